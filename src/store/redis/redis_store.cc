#include "store/redis/redis_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "redis/slot.h"
#include "store/decide.h"
#include "store/redis/message.h"

namespace sluice::store {
namespace {

// A script call holds up everybody else's; this many keys take Redis well under a millisecond.
constexpr std::size_t kMaxKeys = 128;
// Between two tries while Redis can't serve.
constexpr Micros kPause = std::chrono::milliseconds(5);
// Nobody waits for what is given back, so it may take longer than other calls.
constexpr Micros kUndoPatience = std::chrono::seconds(1);

ErrorCode CodeOf(const redis::Answer& answer) {
  if (answer) return ErrorCode::kStoreError;
  return answer.error().ran == redis::Ran::kUnknown ? ErrorCode::kStoreTimeout
                                                    : ErrorCode::kStoreUnavailable;
}

// Each key by itself.
std::vector<Place> PlacesOfKeys(const Call& call, std::uint16_t slot) {
  std::vector<std::string> keys;
  for (const Use& use : call.uses) AppendRedisKey(use.key, keys.emplace_back());
  std::vector<Place> places;
  for (const std::string& key : keys) {
    // What stands before it is the same for everybody who asks about both.
    const auto rank = std::count_if(keys.begin(), keys.end(),
                                    [&](const std::string& other) { return other < key; });
    places.push_back({.slot = slot, .key = static_cast<std::uint32_t>(rank)});
  }
  return places;
}

bool InOnePlace(std::span<const Place> places) {
  return std::all_of(places.begin(), places.end(),
                     [&](const Place& place) { return place == places[0]; });
}

// What undoes what a use took, after whoever asked for it has gone.
struct Undoing {
  explicit Undoing(const Use& taken)
      : scope(taken.key.scope),
        tag(taken.key.tag),
        rest(taken.key.rest),
        limit(*taken.limit),
        use(taken) {
    const bool is_slot = limit.algorithm() == Algorithm::kConcurrency;
    use.key = {.scope = scope, .tag = tag, .rest = rest};
    use.limit = &limit;
    use.cost = 0;
    use.mode = Mode::kEnforce;
    use.count_denied = false;
    use.only_looks = false;
    use.slot = is_slot ? taken.receipt.slot : 0;
    call.operation = is_slot ? Operation::kRelease : Operation::kAdjust;
    call.uses = {&use, 1};
    call.context = this;
    call.on_done = [](Call& /*call*/, void* context) {
      const std::unique_ptr<Undoing> done(static_cast<Undoing*>(context));
    };
  }

  const std::string scope, tag, rest;
  const Limit limit;
  Use use;
  Call call;
};

}  // namespace

// Calls that travel together.
struct RedisStore::Batch {
  RedisStore* store = nullptr;  ///< Null: it is gone, and has answered the calls.
  std::size_t place = 0;        ///< In `under_way_`, if it is there.
  std::vector<Call*> calls;
  SteadyTime deadline;
  CallBy by = CallBy::kSha;
  bool not_known_twice = false;  ///< The script, although somebody had brought it.
  redis::Route route;
  ErrorCode failure{};  ///< What the last answer was, if it is sent again.
};

RedisStore::RedisStore(net::Loop& loop, redis::Service& service, const RedisStoreOptions& options)
    : loop_(loop),
      service_(service),
      options_(options),
      has_slots_(service.has_slots()),
      flush_(loop, [this] { Flush(); }),
      retry_(loop, [this] { Retry(); }) {}

RedisStore::~RedisStore() {
  ending_ = true;
  for (const auto& batch : under_way_) batch->store = nullptr;
  for (const auto& batch : under_way_) Fail(batch->calls, ErrorCode::kStoreTimeout);
  for (const auto& batch : to_retry_) Fail(batch->calls, ErrorCode::kStoreUnavailable);
  for (const Waiting& waiting : waiting_) Fail({waiting.call}, ErrorCode::kStoreUnavailable);
}

RedisStoreStats RedisStore::StatsApprox() const {
  return {.calls = counters_.calls.value(),
          .script_calls = counters_.script_calls.value(),
          .reloads = counters_.reloads.value(),
          .timeouts = counters_.timeouts.value(),
          .failures = counters_.failures.value(),
          .scattered = counters_.scattered.value(),
          .given_back = counters_.given_back.value()};
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
  const bool hurries = call.patience > Micros{0} && call.patience < options_.deadline;
  const SteadyTime deadline = loop_.Now() + (hurries ? call.patience : options_.deadline);
  if (has_slots_) {
    SubmitBySlot(call, deadline);
  } else {
    RunPart(call, 0, deadline);
  }
  return Answered::kLater;
}

void RedisStore::SubmitBySlot(Call& call, SteadyTime deadline) {
  places_.clear();
  for (const Use& use : call.uses) {
    buffer_.clear();
    AppendRedisKey(use.key, buffer_);
    places_.push_back({.slot = redis::SlotOf(buffer_)});
  }
  if (InOnePlace(places_)) return RunPart(call, places_[0].slot, deadline);
  counters_.scattered.Add();
  ScatteredCall::Run(*this, call, places_, deadline);
}

void RedisStore::RunPart(Call& part, std::uint16_t slot, SteadyTime deadline) {
  waiting_.push_back({&part, deadline, slot});
  flush_.Ask();
}

void RedisStore::GiveBack(const Use& taken, std::uint16_t slot, WallTime now) {
  if (ending_) return;
  counters_.given_back.Add();
  auto undoing = std::make_unique<Undoing>(taken);
  undoing->call.now = now;
  const Micros patience = std::max(options_.deadline, kUndoPatience);
  RunPart(undoing.release()->call, slot, loop_.Now() + patience);
}

void RedisStore::SubmitBatch(std::span<Call* const> calls) {
  for (Call* call : calls) Submit(*call);
}

void RedisStore::Flush() {
  std::vector<Waiting> calls;
  calls.swap(waiting_);
  if (has_slots_) {
    std::stable_sort(calls.begin(), calls.end(),
                     [](const Waiting& a, const Waiting& b) { return a.slot < b.slot; });
  }
  auto batch = std::make_shared<Batch>();
  std::size_t keys = 0;
  const auto leave = [&] {
    if (batch->calls.empty()) return;
    Send(batch);
    batch = std::make_shared<Batch>();
    keys = 0;
  };
  for (const auto& [call, deadline, slot] : calls) {
    // With their own time, calls of different moments can't share a script call.
    const bool fits = batch->calls.empty() ||
                      (keys + call->uses.size() <= kMaxKeys && batch->route.slot == slot &&
                       batch->deadline == deadline &&
                       (!options_.use_time_of_calls || batch->calls[0]->now == call->now));
    if (!fits) leave();
    batch->route.slot = slot;
    batch->deadline = deadline;
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
  batch->store = this;
  batch->place = under_way_.size();
  under_way_.push_back(batch);
  service_.Send(batch->route, buffer_, batch->deadline, [batch](const redis::Answer& answer) {
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
  if (answer && !answer.reply().is_error()) {
    if (!ReadAnswers(answer.reply(), batch->calls)) {
      return Fail(batch->calls, ErrorCode::kStoreError);
    }
    for (Call* call : batch->calls) Finish(*call);
    return;
  }
  if (answer && answer.reply().error_code() == "NOSCRIPT" && batch->by == CallBy::kSha) {
    return SendScript(batch);
  }
  batch->failure = CodeOf(answer);
  switch (service_.Judge(answer, batch->route)) {
    case redis::Next::kGiveUp:
      return Fail(batch->calls, batch->failure);
    case redis::Next::kNow:
      return Send(batch);
    case redis::Next::kLater:
      return SendLater(batch);
    case redis::Next::kApart:
      return SendApart(batch);
  }
}

// One brings the script's text; the others, which follow it, find it known.
void RedisStore::SendScript(const std::shared_ptr<Batch>& batch) {
  counters_.reloads.Add();
  if (told_at_ != loop_.Now()) told_.clear();
  told_at_ = loop_.Now();
  const std::uint16_t node = batch->route.sent_to;
  const bool told = std::find(told_.begin(), told_.end(), node) != told_.end();
  if (!told) told_.push_back(node);
  if (!told || std::exchange(batch->not_known_twice, true)) batch->by = CallBy::kText;
  Send(batch);
}

void RedisStore::SendLater(const std::shared_ptr<Batch>& batch) {
  // One pause before it is sent, and one for the answer.
  if (loop_.Now() + 2 * kPause >= batch->deadline) return Fail(batch->calls, batch->failure);
  if (to_retry_.empty()) retry_.Set(loop_.Now() + kPause);
  to_retry_.push_back(batch);
}

// The slot is moving, and not all keys are in one place. Each of them can be asked about alone.
void RedisStore::SendApart(const std::shared_ptr<Batch>& batch) {
  const std::uint16_t slot = batch->route.slot;
  if (batch->calls.size() > 1) {
    for (Call* call : batch->calls) {
      auto alone = std::make_shared<Batch>();
      alone->calls = {call};
      alone->deadline = batch->deadline;
      alone->route.slot = slot;
      Send(alone);
    }
    return;
  }
  Call& call = *batch->calls[0];
  const std::vector<Place> places = PlacesOfKeys(call, slot);
  if (InOnePlace(places)) return SendLater(batch);
  counters_.scattered.Add();
  ScatteredCall::Run(*this, call, places, batch->deadline);
}

void RedisStore::Retry() {
  std::vector<std::shared_ptr<Batch>> batches;
  batches.swap(to_retry_);
  for (const auto& batch : batches) {
    // Too late: what Redis said last is the answer.
    if (loop_.Now() >= batch->deadline) {
      Fail(batch->calls, batch->failure);
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
