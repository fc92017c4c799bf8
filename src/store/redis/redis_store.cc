#include "store/redis/redis_store.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <optional>
#include <utility>

#include "base/owned_key.h"
#include "redis/slot.h"
#include "store/decide.h"
#include "store/redis/message.h"

namespace sluice::store {
namespace {

// Script calls with more than plain checks that are in flight at a time; in a cluster, they go to
// many servers.
constexpr std::size_t kMaxHeavy = 4;
constexpr std::size_t kMaxHeavyInCluster = 16;
// Pause between retries while Redis can't serve.
constexpr Micros kPause = std::chrono::milliseconds(5);
// No caller waits for a rollback, so it may take longer than other calls.
constexpr Micros kRollbackTimeout = std::chrono::seconds(1);

ErrorCode CodeOf(const redis::Answer& answer) {
  if (answer) return ErrorCode::kStoreError;
  return answer.error().ran == redis::Execution::kUnknown ? ErrorCode::kStoreTimeout
                                                          : ErrorCode::kStoreUnavailable;
}

std::size_t HashOfKey(const Key& key) {
  constexpr std::hash<std::string_view> kHash;
  return kHash(key.tag) ^ std::rotl(kHash(key.scope), 1) ^ std::rotl(kHash(key.rest), 2);
}

// A detached rollback of what a use took: its caller may be gone. Deletes itself when answered.
struct Rollback {
  Rollback(const KeyUse& taken, const std::function<void(const Key&)>& its_listener)
      : listener(its_listener), key(taken.key), limit(*taken.limit), use(taken) {
    const bool is_slot = limit.algorithm() == Algorithm::kConcurrency;
    use.key = key.view();
    use.limit = &limit;
    use.cost = 0;
    use.mode = Mode::kEnforce;
    use.count_denied = false;
    use.only_looks = false;
    use.slot = is_slot ? taken.receipt.slot : 0;
    call.operation = is_slot ? Operation::kRelease : Operation::kAdjust;
    call.uses = {&use, 1};
    call.context = this;
    call.on_done = [](StoreCall& /*call*/, void* context) {
      const std::unique_ptr<Rollback> done(static_cast<Rollback*>(context));
      if (done->listener) done->listener(done->use.key);
    };
  }

  const std::function<void(const Key&)>& listener;  ///< The store's, which answers all calls.
  const OwnedKey key;
  const Limit limit;
  KeyUse use;
  StoreCall call;
};

}  // namespace

// Calls of one script call. Recycled.
struct RedisStore::Batch {
  explicit Batch(RedisStore& owner) : store(&owner) {}

  /// Null: the store was destroyed and has completed the calls; the pending handler owns the batch.
  RedisStore* store;
  std::uint64_t number = 0;      ///< Of this use of the batch.
  std::size_t in_flight_at = 0;  ///< In `in_flight_`, if it is there.
  std::vector<StoreCall*> calls;
  SteadyTime deadline;
  ScriptForm by = ScriptForm::kSha;
  bool heavy = false;          ///< More than plain checks.
  bool over = false;           ///< All calls are answered.
  bool missed_script = false;  ///< The script was unknown although another batch had brought it.
  redis::Route route;
  ErrorCode failure{};             ///< What the last answer was, if it is sent again.
  std::vector<Predecessor> after;  ///< Must be over before it is sent.
};

bool RedisStore::Predecessor::over() const { return batch->number != number || batch->over; }

RedisStore::RedisStore(net::Loop& loop, redis::Service& service, const RedisStoreOptions& options)
    : loop_(loop),
      service_(service),
      options_(options),
      has_slots_(service.has_slots()),
      queue_(options.deadline / 2),
      flush_(loop, [this] { Flush(); }),
      retry_(loop, [this] { Retry(); }),
      held_timer_(loop, [this] { DropLate(); }) {}

RedisStore::~RedisStore() {
  ending_ = true;
  for (Batch* const batch : in_flight_) batch->store = nullptr;
  for (Batch* const batch : in_flight_) Fail(batch->calls, ErrorCode::kStoreTimeout);
  for (Batch* const batch : to_retry_) Fail(batch->calls, ErrorCode::kStoreUnavailable);
  for (Batch* const batch : held_) Fail(batch->calls, ErrorCode::kStoreUnavailable);
  // NOLINTNEXTLINE(modernize-loop-convert): a call that fails may submit its next part.
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    StoreCall* const call = waiting_[i].call;
    Fail({&call, 1}, ErrorCode::kStoreUnavailable);
  }
  for (auto& batch : batches_) {
    if (batch->store == nullptr) batch.release();  // NOLINT: its handler deletes it.
  }
}

Completion RedisStore::Submit(StoreCall& call) {
  counters_.calls.Add();
  call.affected = 0;
  call.pending = false;
  if (const auto refusal = ending_ ? ErrorCode::kStoreUnavailable : Refusal(call)) {
    call.ok = false;
    call.error = *refusal;
    return Completion::kNow;
  }
  if (call.uses.empty()) {
    call.ok = true;
    call.allowed = true;
    return Completion::kNow;
  }
  call.pending = true;
  const bool hurries = call.timeout > Micros{0} && call.timeout < options_.deadline;
  const SteadyTime deadline = loop_.Now() + (hurries ? call.timeout : options_.deadline);
  if (has_slots_ || ExceedsOneScriptCall(call)) {
    SubmitBySlot(call, deadline);
  } else {
    RunPart(call, 0, deadline);
  }
  return Completion::kLater;
}

void RedisStore::SubmitBySlot(StoreCall& call, SteadyTime deadline) {
  locations_.clear();
  for (const KeyUse& use : call.uses) {
    KeyLocation& location = locations_.emplace_back();
    if (!has_slots_) continue;
    buffer_.clear();
    AppendRedisKey(use.key, buffer_);
    location.slot = redis::SlotOf(buffer_);
  }
  if (ExceedsOneScriptCall(call)) GroupKeys(call, locations_);
  if (InOneLocation(locations_)) return RunPart(call, locations_[0].slot, deadline);
  counters_.scattered.Add();
  ScatteredCall::Run(*this, call, locations_, deadline);
}

void RedisStore::RunPart(StoreCall& part, std::uint16_t slot, SteadyTime deadline) {
  queue_.Began(&part, loop_.Now());
  waiting_.push_back({.call = &part,
                      .deadline = deadline,
                      .order = static_cast<std::uint32_t>(waiting_.size()),
                      .slot = slot,
                      .callers_deadline = deadline < loop_.Now() + options_.deadline});
  flush_.Schedule();
}

void RedisStore::GiveBack(const KeyUse& taken, std::uint16_t slot, WallTime now) {
  if (ending_) return;
  counters_.given_back.Add();
  auto rollback = std::make_unique<Rollback>(taken, on_given_back_);
  rollback->call.now = now;
  const Micros timeout = std::max(options_.deadline, kRollbackTimeout);
  RunPart(rollback.release()->call, slot, loop_.Now() + timeout);
}

void RedisStore::SubmitBatch(std::span<StoreCall* const> calls) {
  for (StoreCall* call : calls) Submit(*call);
}

RedisStore::Batch& RedisStore::TakeBatch(const Waiting& first) {
  if (idle_.empty()) idle_.push_back(batches_.emplace_back(std::make_unique<Batch>(*this)).get());
  Batch& batch = *idle_.back();
  idle_.pop_back();
  batch.number = ++numbers_;
  batch.calls.clear();
  batch.after.clear();
  batch.deadline = first.deadline;
  batch.by = ScriptForm::kSha;
  batch.heavy = batch.over = batch.missed_script = false;
  batch.route = {.slot = first.slot, .callers_deadline = first.callers_deadline};
  return batch;
}

void RedisStore::Recycle(Batch& batch) {
  batch.over = true;
  idle_.push_back(&batch);
}

// Sends what came in this turn. Nothing is submitted meanwhile: handlers never run inside Send.
void RedisStore::Flush() {
  if (has_slots_) {
    std::sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
      return std::pair(a.slot, a.order) < std::pair(b.slot, b.order);
    });
  }
  flushed_.clear();
  std::size_t work = 0;
  bool only_checks = true;
  for (const Waiting& waiting : waiting_) {
    StoreCall& call = *waiting.call;
    const std::size_t more = WorkOf(call);
    // Calls that bring their own time share a script call only with calls of that time.
    const Batch* const last = flushed_.empty() ? nullptr : flushed_.back();
    const bool fits = last != nullptr && work + more <= kMaxWork &&
                      last->route.slot == waiting.slot && last->deadline == waiting.deadline &&
                      (!options_.use_time_of_calls || last->calls[0]->now == call.now);
    if (!fits) {
      flushed_.push_back(&TakeBatch(waiting));
      work = 0;
    }
    Batch& batch = *flushed_.back();
    batch.calls.push_back(&call);
    batch.heavy = batch.heavy || more > call.uses.size();
    work += more;
    only_checks = only_checks && call.operation == Operation::kCheck;
  }
  waiting_.clear();
  if (flushed_.size() > 1 && !only_checks) KeepOrder();
  for (Batch* const batch : flushed_) {
    if (MustWait(*batch)) {
      Hold(*batch);
    } else {
      Send(*batch);
    }
  }
}

// The script may leave a part of a list to be sent again: later batches of the same turn that share
// a key with it wait for that.
void RedisStore::KeepOrder() {
  keys_.clear();
  for (std::size_t i = 0; i < flushed_.size(); ++i) {
    for (const StoreCall* call : flushed_[i]->calls) {
      for (const KeyUse& use : call->uses) keys_.emplace_back(HashOfKey(use.key), i);
    }
  }
  std::sort(keys_.begin(), keys_.end());
  keys_.erase(std::unique(keys_.begin(), keys_.end()), keys_.end());
  for (std::size_t first = 0, i = 0; i < keys_.size(); ++i) {
    if (keys_[i].first != keys_[first].first) first = i;
    for (std::size_t earlier = first; earlier < i; ++earlier) {
      Batch* const batch = flushed_[keys_[earlier].second];
      flushed_[keys_[i].second]->after.push_back({batch, batch->number});
    }
  }
}

// Returns whether other batches must be done first: predecessors of its turn, heavy batches in
// flight, or held batches with a common key.
bool RedisStore::MustWait(const Batch& batch) const {
  if (!MaySend(batch)) return true;
  if (held_.empty()) return false;
  if (batch.heavy) return true;
  return std::any_of(batch.calls.begin(), batch.calls.end(), [this](const StoreCall* call) {
    return std::any_of(call->uses.begin(), call->uses.end(), [this](const KeyUse& use) {
      return held_keys_.contains(HashOfKey(use.key));
    });
  });
}

bool RedisStore::MaySend(const Batch& batch) const {
  if (batch.heavy && heavy_in_flight_ >= (has_slots_ ? kMaxHeavyInCluster : kMaxHeavy))
    return false;
  return std::all_of(batch.after.begin(), batch.after.end(),
                     [](const Predecessor& earlier) { return earlier.over(); });
}

void RedisStore::Hold(Batch& batch, bool first) {
  for (const StoreCall* call : batch.calls) {
    for (const KeyUse& use : call->uses) held_keys_.insert(HashOfKey(use.key));
  }
  if (held_.empty() || batch.deadline < held_until_) {
    held_until_ = batch.deadline;
    held_timer_.Set(held_until_);
  }
  held_.insert(first ? held_.begin() : held_.end(), &batch);
}

void RedisStore::SendHeld() {
  while (!held_.empty()) {
    Batch& batch = *held_.front();
    if (!MaySend(batch)) return;
    held_.pop_front();
    if (held_.empty()) held_keys_.clear();
    if (loop_.Now() < batch.deadline) {
      Send(batch);
    } else {
      Fail(batch, ErrorCode::kStoreUnavailable);
    }
  }
}

void RedisStore::DropLate() {
  const auto late = std::stable_partition(
      held_.begin(), held_.end(),
      [now = loop_.Now()](const Batch* batch) { return now < batch->deadline; });
  const std::vector<Batch*> dropped(late, held_.end());
  held_.erase(late, held_.end());
  if (held_.empty()) held_keys_.clear();
  for (const Batch* const batch : held_) {
    if (batch == held_.front() || batch->deadline < held_until_) held_until_ = batch->deadline;
  }
  if (!held_.empty()) held_timer_.Set(held_until_);
  for (Batch* const batch : dropped) Fail(*batch, ErrorCode::kStoreUnavailable);
  SendHeld();
}

void RedisStore::Send(Batch& batch) {
  counters_.script_calls.Add();
  buffer_.clear();
  const auto now = options_.use_time_of_calls ? std::optional(batch.calls[0]->now) : std::nullopt;
  AppendRequest(batch.calls, batch.by, now, buffer_);
  if (batch.heavy) ++heavy_in_flight_;
  batch.in_flight_at = in_flight_.size();
  in_flight_.push_back(&batch);
  service_.Send(batch.route, buffer_, batch.deadline, [sent = &batch](const redis::Answer& answer) {
    if (sent->store != nullptr) return sent->store->Receive(*sent, answer);
    const std::unique_ptr<Batch> orphan(sent);
  });
}

void RedisStore::Receive(Batch& batch, const redis::Answer& answer) {
  if (batch.heavy) --heavy_in_flight_;
  in_flight_.back()->in_flight_at = batch.in_flight_at;
  std::swap(in_flight_[batch.in_flight_at], in_flight_.back());
  in_flight_.pop_back();
  Digest(batch, answer);
  SendHeld();
}

void RedisStore::Digest(Batch& batch, const redis::Answer& answer) {
  if (answer && !answer.reply().is_error()) {
    const std::size_t answered = ReadAnswers(answer.reply(), batch.calls);
    if (answered == 0) return Fail(batch, ErrorCode::kStoreError);
    done_.assign(batch.calls.begin(), batch.calls.begin() + static_cast<std::ptrdiff_t>(answered));
    if (answered == batch.calls.size()) {
      Recycle(batch);
    } else {
      HoldRest(batch, answered);
    }
    for (StoreCall* call : done_) Finish(*call);
    return;
  }
  if (answer && answer.reply().error_code() == "NOSCRIPT" && batch.by == ScriptForm::kSha) {
    return SendScript(batch);
  }
  batch.failure = CodeOf(answer);
  switch (service_.AdviceFor(answer, batch.route)) {
    case redis::RetryAdvice::kGiveUp:
      return Fail(batch, batch.failure);
    case redis::RetryAdvice::kNow:
      return Send(batch);
    case redis::RetryAdvice::kLater:
      return SendLater(batch);
    case redis::RetryAdvice::kApart:
      return SendApart(batch);
  }
}

// Holds the calls after the first `answered`, which did not run because the script had done its
// maximum of work. They are sent before all other held ones.
void RedisStore::HoldRest(Batch& batch, std::size_t answered) {
  batch.calls.erase(batch.calls.begin(),
                    batch.calls.begin() + static_cast<std::ptrdiff_t>(answered));
  batch.heavy = true;
  batch.by = ScriptForm::kSha;
  Hold(batch, /*first=*/true);
}

// One batch sends the script's text; later ones use its hash.
void RedisStore::SendScript(Batch& batch) {
  counters_.reloads.Add();
  if (script_sent_at_ != loop_.Now()) script_sent_to_.clear();
  script_sent_at_ = loop_.Now();
  const std::uint16_t node = batch.route.sent_to;
  const bool sent =
      std::find(script_sent_to_.begin(), script_sent_to_.end(), node) != script_sent_to_.end();
  if (!sent) script_sent_to_.push_back(node);
  if (!sent || std::exchange(batch.missed_script, true)) batch.by = ScriptForm::kText;
  Send(batch);
}

void RedisStore::SendLater(Batch& batch) {
  // One pause before it is sent, and one for the answer.
  if (loop_.Now() + 2 * kPause >= batch.deadline) return Fail(batch, batch.failure);
  if (to_retry_.empty()) retry_.Set(loop_.Now() + kPause);
  to_retry_.push_back(&batch);
}

// The slot is being migrated and its keys are on two nodes: sends each call, or each key of a
// single call, separately.
void RedisStore::SendApart(Batch& batch) {
  const std::uint16_t slot = batch.route.slot;
  if (batch.calls.size() > 1) {
    for (StoreCall* call : batch.calls) {
      Batch& alone = TakeBatch({.call = call,
                                .deadline = batch.deadline,
                                .slot = slot,
                                .callers_deadline = batch.route.callers_deadline});
      alone.calls.push_back(call);
      alone.heavy = batch.heavy;
      Send(alone);
    }
    return Recycle(batch);
  }
  StoreCall& call = *batch.calls[0];
  const std::vector<KeyLocation> locations = LocationsOfKeys(call, slot);
  if (InOneLocation(locations)) return SendLater(batch);
  const SteadyTime deadline = batch.deadline;
  Recycle(batch);
  counters_.scattered.Add();
  queue_.Ended(&call, loop_.Now(), true);  // From here on its parts are counted.
  ScatteredCall::Run(*this, call, locations, deadline);
}

void RedisStore::Retry() {
  std::vector<Batch*> batches;
  batches.swap(to_retry_);
  for (Batch* const batch : batches) {
    // Too late to retry: the last reply stands.
    if (loop_.Now() >= batch->deadline) {
      Fail(*batch, batch->failure);
    } else {
      Send(*batch);
    }
  }
  SendHeld();
}

void RedisStore::Fail(Batch& batch, ErrorCode error) {
  batch.over = true;
  Fail(batch.calls, error);
  Recycle(batch);
}

void RedisStore::Fail(std::span<StoreCall* const> calls, ErrorCode error) {
  Counter& count = error == ErrorCode::kStoreTimeout ? counters_.timeouts : counters_.failures;
  count.Add(calls.size());
  for (StoreCall* call : calls) {
    call->ok = false;
    call->error = error;
    Finish(*call);
  }
}

void RedisStore::Finish(StoreCall& call) {
  queue_.Ended(&call, loop_.Now(), call.ok);
  call.pending = false;
  if (call.on_done != nullptr) call.on_done(call, call.context);
}

}  // namespace sluice::store
