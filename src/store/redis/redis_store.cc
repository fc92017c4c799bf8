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

// Before version 7, Redis wraps what it said to the script's command.
std::string_view ReplyCodeOf(resp::Value error) {
  constexpr std::string_view kReadOnly = "READONLY";
  const bool wrapped = error.text().find(": -READONLY ") != std::string_view::npos;
  return wrapped ? kReadOnly : error.error_code();
}

ErrorCode CodeOf(const redis::CallError& error) {
  return error.ran == redis::Ran::kUnknown ? ErrorCode::kStoreTimeout
                                           : ErrorCode::kStoreUnavailable;
}

}  // namespace

// Calls that travel together.
struct RedisStore::Batch {
  RedisStore* store = nullptr;  ///< Null: it is gone, and has answered the calls.
  std::size_t place = 0;        ///< In `under_way_`, if it is there.
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

RedisStore::~RedisStore() {
  ending_ = true;
  for (const auto& batch : under_way_) batch->store = nullptr;
  for (const auto& batch : under_way_) Fail(batch->calls, ErrorCode::kStoreTimeout);
  for (const auto& batch : to_retry_) Fail(batch->calls, ErrorCode::kStoreUnavailable);
  Fail(waiting_, ErrorCode::kStoreUnavailable);
}

RedisStoreStats RedisStore::StatsApprox() const {
  return {.calls = counters_.calls.value(),
          .script_calls = counters_.script_calls.value(),
          .reloads = counters_.reloads.value(),
          .timeouts = counters_.timeouts.value(),
          .failures = counters_.failures.value()};
}

Answered RedisStore::Submit(Call& call) {
  counters_.calls.Add();
  call.affected = 0;
  call.pending = false;
  if (const auto refusal = ending_ ? ErrorCode::kStoreUnavailable : Refusal(call)) {
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
    batch->store = this;
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
  counters_.script_calls.Add();
  buffer_.clear();
  const auto now = options_.use_time_of_calls ? std::optional(batch->calls[0]->now) : std::nullopt;
  AppendRequest(batch->calls, batch->by, now, buffer_);
  batch->place = under_way_.size();
  under_way_.push_back(batch);
  client_.Send(buffer_, batch->deadline, [batch](const redis::Answer& answer) {
    if (batch->store != nullptr) batch->store->Receive(batch, answer);
  });
}

void RedisStore::Forget(const Batch& batch) {
  under_way_.back()->place = batch.place;
  std::swap(under_way_[batch.place], under_way_.back());
  under_way_.pop_back();
}

void RedisStore::Receive(const std::shared_ptr<Batch>& batch, const redis::Answer& answer) {
  Forget(*batch);
  if (!answer) return Fail(batch->calls, CodeOf(answer.error()));
  if (answer.reply().is_error()) {
    if (!SendAgain(batch, answer.reply())) Fail(batch->calls, ErrorCode::kStoreError);
    return;
  }
  if (!ReadAnswers(answer.reply(), batch->calls)) {
    return Fail(batch->calls, ErrorCode::kStoreError);
  }
  for (Call* call : batch->calls) Finish(*call);
}

bool RedisStore::SendAgain(const std::shared_ptr<Batch>& batch, resp::Value error) {
  const std::string_view code = ReplyCodeOf(error);
  if (code == "NOSCRIPT" && batch->by == CallBy::kSha) {
    counters_.reloads.Add();
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
      Fail(batch->calls, ErrorCode::kStoreError);
    } else {
      Send(batch);
    }
  }
}

void RedisStore::Fail(const std::vector<Call*>& calls, ErrorCode error) {
  Counter& count = error == ErrorCode::kStoreTimeout ? counters_.timeouts : counters_.failures;
  count.Add(calls.size());
  for (Call* call : calls) {
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
