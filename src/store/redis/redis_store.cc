#include "store/redis/redis_store.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "store/decide.h"
#include "store/redis/message.h"

namespace sluice::store {
namespace {

// A script call holds up everybody else's; this many keys take Redis well under a millisecond.
constexpr std::size_t kMaxKeys = 128;
// Between two tries while Redis is loading or read-only.
constexpr Micros kPause = std::chrono::milliseconds(5);

// Error replies that prove that the script did not run, and that may pass.
bool MayPass(std::string_view code) {
  constexpr std::array<std::string_view, 6> kCodes{"LOADING",    "READONLY", "BUSY",
                                                   "MASTERDOWN", "TRYAGAIN", "CLUSTERDOWN"};
  return std::find(kCodes.begin(), kCodes.end(), code) != kCodes.end();
}

ErrorCode CodeOf(const redis::CallError& error) {
  return error.ran == redis::Ran::kUnknown ? ErrorCode::kStoreTimeout
                                           : ErrorCode::kStoreUnavailable;
}

}  // namespace

// Calls that travel together.
struct RedisStore::Batch {
  std::vector<Call*> calls;
  SteadyTime deadline;
  CallBy by = CallBy::kSha;
};

RedisStore::RedisStore(net::Loop& loop, redis::Client& client, const RedisStoreOptions& options)
    : loop_(loop),
      client_(client),
      options_(options),
      flush_(loop, [this] { Flush(); }),
      retry_(loop, [this] { Retry(); }) {}

RedisStore::~RedisStore() = default;

Answered RedisStore::Submit(Call& call) {
  ++stats_.calls;
  call.affected = 0;
  call.pending = false;
  if (const auto refusal = Refusal(call)) {
    call.ok = false;
    call.error = *refusal;
    return Answered::kNow;
  }
  if (call.uses.empty()) {
    call.ok = true;
    call.allowed = true;
    return Answered::kNow;
  }
  call.pending = true;
  waiting_.push_back(&call);
  flush_.Ask();
  return Answered::kLater;
}

void RedisStore::SubmitBatch(std::span<Call* const> calls) {
  for (Call* call : calls) Submit(*call);
}

void RedisStore::Flush() {
  std::vector<Call*> calls;
  calls.swap(waiting_);
  auto batch = std::make_shared<Batch>();
  std::size_t keys = 0;
  const auto leave = [&] {
    if (batch->calls.empty()) return;
    batch->deadline = loop_.Now() + options_.deadline;
    Send(batch);
    batch = std::make_shared<Batch>();
    keys = 0;
  };
  for (Call* call : calls) {
    // With their own time, calls of different moments can't share a script call.
    const bool same_time =
        !options_.use_time_of_calls || batch->calls.empty() || batch->calls[0]->now == call->now;
    if (keys + call->uses.size() > kMaxKeys || !same_time) leave();
    batch->calls.push_back(call);
    keys += call->uses.size();
  }
  leave();
}

void RedisStore::Send(const std::shared_ptr<Batch>& batch) {
  ++stats_.script_calls;
  buffer_.clear();
  const auto now = options_.use_time_of_calls ? std::optional(batch->calls[0]->now) : std::nullopt;
  AppendRequest(batch->calls, batch->by, now, buffer_);
  client_.Send(buffer_, batch->deadline,
               [this, batch](const redis::Answer& answer) { Receive(batch, answer); });
}

void RedisStore::Receive(const std::shared_ptr<Batch>& batch, const redis::Answer& answer) {
  if (!answer) return Fail(*batch, CodeOf(answer.error()));
  if (answer.reply().is_error()) {
    if (!SendAgain(batch, answer.reply())) Fail(*batch, ErrorCode::kStoreError);
    return;
  }
  if (!ReadAnswers(answer.reply(), batch->calls)) return Fail(*batch, ErrorCode::kStoreError);
  for (Call* call : batch->calls) Finish(*call);
}

bool RedisStore::SendAgain(const std::shared_ptr<Batch>& batch, resp::Value error) {
  const std::string_view code = error.error_code();
  if (code == "NOSCRIPT" && batch->by == CallBy::kSha) {
    ++stats_.reloads;
    batch->by = CallBy::kText;
    Send(batch);
    return true;
  }
  // One pause before it is sent, and one for the answer.
  if (!MayPass(code) || loop_.Now() + 2 * kPause >= batch->deadline) return false;
  if (to_retry_.empty()) retry_.Set(loop_.Now() + kPause);
  to_retry_.push_back(batch);
  return true;
}

void RedisStore::Retry() {
  std::vector<std::shared_ptr<Batch>> batches;
  batches.swap(to_retry_);
  for (const auto& batch : batches) {
    // Too late: what Redis said last is the answer.
    if (loop_.Now() >= batch->deadline) {
      Fail(*batch, ErrorCode::kStoreError);
    } else {
      Send(batch);
    }
  }
}

void RedisStore::Fail(const Batch& batch, ErrorCode error) {
  auto& count = error == ErrorCode::kStoreTimeout ? stats_.timeouts : stats_.failures;
  count += batch.calls.size();
  for (Call* call : batch.calls) {
    call->ok = false;
    call->error = error;
    Finish(*call);
  }
}

void RedisStore::Finish(Call& call) {
  call.pending = false;
  if (call.on_done != nullptr) call.on_done(call, call.context);
}

}  // namespace sluice::store
