#include "lease/leased_store.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/owned_key.h"
#include "store/decide.h"

namespace sluice::lease {

using store::Completion;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

namespace {

bool MayLease(const KeyUse& use) {
  return use.may_lease && use.mode == Mode::kEnforce && !use.count_denied && !use.only_looks &&
         use.cost >= 1 && use.cost <= use.limit->cap() && store::Fits(use.key);
}

bool MayLease(const StoreCall& call) {
  return call.operation == Operation::kCheck && !call.uses.empty() &&
         call.uses.size() <= kMaxLimitsPerCall &&
         std::all_of(call.uses.begin(), call.uses.end(),
                     [](const KeyUse& use) { return MayLease(use); });
}

using denial::RefillTime;

// `retry_after` of the reply is that of the cheapest waiting call. Windows end for all of them.
Micros RetryAfter(const LimitNumbers& limit, const SpendResult& spent) {
  if (limit.algorithm != Algorithm::kTokenBucket) return spent.retry_after;
  return spent.retry_after + RefillTime(limit, spent.still_missing, kMaxWait - spent.retry_after);
}

// A bucket is full when it has refilled. The store reports a later time, because for it tokens of
// nodes come back when their leases expire.
Micros ResetAfter(const LimitNumbers& limit, const SpendResult& spent) {
  if (limit.algorithm != Algorithm::kTokenBucket) return spent.reset_after;
  const std::int64_t missing = std::max(limit.cap - spent.remaining, std::int64_t{0});
  return std::max(RefillTime(limit, missing, spent.reset_after), RetryAfter(limit, spent));
}

void SetVerdict(KeyUse& use, const SpendResult& spent) {
  const bool allowed = spent.decision == LeaseDecision::kAllowed;
  use.verdict = {.outcome = allowed ? Outcome::kAllowed : Outcome::kDenied,
                 .limit = use.limit->cap(),
                 .remaining = std::min(spent.remaining, use.limit->cap()),
                 .retry_after = RetryAfter(use.limit->numbers(), spent),
                 .reset_after = ResetAfter(use.limit->numbers(), spent)};
  use.receipt = {};
  if (allowed) use.receipt = {.amount = use.cost, .from_grant = 0, .at = spent.taken_at};
}

void SetOutcome(StoreCall& call, bool allowed) {
  call.ok = true;
  call.allowed = allowed;
  call.affected = 0;
  call.pending = false;
}

}  // namespace

/// A request in flight to the store, with its data. Recycled.
struct LeasedStore::LeaseRequest {
  explicit LeaseRequest(LeasedStore& its_owner) : owner(its_owner) {}

  LeasedStore& owner;
  StoreCall call;
  KeyUse use;
  store::Lending lending;
  std::optional<Limit> limit;
  OwnedKey key;
  KeyHash hash{};
  SteadyTime sent{};
  std::vector<Waiting> waiting;
  std::size_t asked = 0;  ///< The first so many of them are asked for; the others came later.
  bool on_callers_stack = false;
};

LeasedStore::LeasedStore(store::Store& store, LeaseTable& table, LeasedStoreOptions options)
    : store_(store), table_(table), options_(std::move(options)) {}

LeasedStore::~LeasedStore() = default;

Completion LeasedStore::Submit(StoreCall& call) {
  if (MayLease(call)) {
    switch (call.uses.size() == 1 ? TryOne(call) : TryAll(call)) {
      case Attempt::kAnswered:
        return Completion::kNow;
      case Attempt::kWaits:
        return Completion::kLater;
      case Attempt::kNeedsStore:
        break;
    }
  }
  return store_.Submit(call);
}

void LeasedStore::SubmitBatch(std::span<StoreCall* const> calls) {
  for (StoreCall* call : calls) Submit(*call);
}

bool AnswerFrom(LeaseTable& table, StoreCall& call, SteadyTime now, bool& wants_more) {
  if (!MayLease(call) || call.uses.size() != 1) return false;
  KeyUse& use = call.uses[0];
  const SpendResult spent =
      table.Spend(use.key, *use.limit, use.cost, now, SpendAttempt::kTry, use.series);
  if (spent.decision == LeaseDecision::kNeedsLease || spent.decision == LeaseDecision::kExact)
    return false;
  SetVerdict(use, spent);
  SetOutcome(call, spent.decision == LeaseDecision::kAllowed);
  wants_more = spent.fetch_ahead;
  return true;
}

LeasedStore::Attempt LeasedStore::TryOne(StoreCall& call) {
  KeyUse& use = call.uses[0];
  const SteadyTime now = options_.now();
  const SpendResult spent =
      table_.Spend(use.key, *use.limit, use.cost, now, SpendAttempt::kNew, use.series);
  if (spent.decision == LeaseDecision::kExact) return Attempt::kNeedsStore;
  if (spent.decision == LeaseDecision::kNeedsLease) return Wait(call, now);
  SetVerdict(use, spent);
  SetOutcome(call, spent.decision == LeaseDecision::kAllowed);
  if (spent.fetch_ahead) FetchAhead(use);
  return Attempt::kAnswered;
}

LeasedStore::Attempt LeasedStore::TryAll(StoreCall& call) {
  const SteadyTime now = options_.now();
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    KeyUse& use = call.uses[i];
    const SpendResult spent =
        table_.Spend(use.key, *use.limit, use.cost, now, SpendAttempt::kNew, use.series);
    if (spent.fetch_ahead || spent.decision == LeaseDecision::kNeedsLease) FetchAhead(use);
    SetVerdict(use, spent);
    if (spent.decision == LeaseDecision::kAllowed) continue;
    for (std::size_t taken = 0; taken < i; ++taken) {
      table_.Unspend(call.uses[taken].key, call.uses[taken].cost);
    }
    if (spent.decision == LeaseDecision::kDenied && FillOthers(call, i, now)) {
      SetOutcome(call, false);
      return Attempt::kAnswered;
    }
    for (const KeyUse& other : call.uses.subspan(i + 1)) {
      if (table_.CountDemand(other.key, *other.limit, now)) FetchAhead(other);
    }
    return Attempt::kNeedsStore;
  }
  SetOutcome(call, true);
  return Attempt::kAnswered;
}

// A denial reports the remaining units of every limit. Returns whether the table knows them.
bool LeasedStore::FillOthers(StoreCall& call, std::size_t denied, SteadyTime now) {
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    if (i == denied) continue;
    KeyUse& use = call.uses[i];
    const SpendResult seen = table_.Peek(use.key, *use.limit, use.cost, now);
    if (seen.decision == LeaseDecision::kExact || seen.decision == LeaseDecision::kNeedsLease)
      return false;
    SetVerdict(use, seen);
    use.receipt = {};
  }
  return true;
}

LeasedStore::Attempt LeasedStore::Wait(StoreCall& call, SteadyTime now) {
  const KeyHash hash = hasher_(call.uses[0].key);
  if (LeaseRequest* const fetching = Fetching(hash)) {
    call.pending = true;
    fetching->waiting.push_back({&call, Until(call, now)});
    return Attempt::kWaits;
  }
  LeaseRequest& request = NewRequest(call.uses[0], hash);
  request.waiting.push_back({&call, Until(call, now)});
  request.on_callers_stack = true;
  call.pending = true;
  if (Fetch(request, now) == Completion::kNow) {
    Conclude(request);
    return call.pending ? Attempt::kWaits : Attempt::kAnswered;
  }
  request.on_callers_stack = false;
  return Attempt::kWaits;
}

SteadyTime LeasedStore::Until(const StoreCall& call, SteadyTime now) {
  if (call.timeout == Micros{0}) return SteadyTime::max();
  const SteadyTime until = now + call.timeout;
  if (until < next_wake_ && options_.wake) {
    next_wake_ = until;
    options_.wake(until);
  }
  return until;
}

void LeasedStore::ExpireCalls() {
  const SteadyTime now = options_.now();
  next_wake_ = SteadyTime::max();
  std::vector<StoreCall*> over;  // Finished at the end: their callers may submit again.
  for (const std::vector<LeaseRequest*>& place : fetching_) {
    for (LeaseRequest* const request : place) {
      std::size_t kept = 0;
      std::size_t asked = 0;
      for (std::size_t i = 0; i < request->waiting.size(); ++i) {
        const Waiting waiting = request->waiting[i];
        if (waiting.until <= now) {
          over.push_back(waiting.call);
          continue;
        }
        next_wake_ = std::min(next_wake_, waiting.until);
        if (i < request->asked) ++asked;
        request->waiting[kept++] = waiting;
      }
      request->waiting.resize(kept);
      request->asked = asked;
    }
  }
  if (next_wake_ < SteadyTime::max() && options_.wake) options_.wake(next_wake_);
  for (StoreCall* const call : over) {
    Fail(*call, ErrorCode::kStoreTimeout, now);
    call->pending = false;
    if (call->on_done != nullptr) call->on_done(*call, call->context);
  }
}

LeasedStore::LeaseRequest* LeasedStore::Fetching(const KeyHash& hash) {
  const std::vector<LeaseRequest*>& bucket = BucketOf(hash);
  const auto found = std::find_if(bucket.begin(), bucket.end(), [&](const LeaseRequest* request) {
    return request->hash == hash;
  });
  return found == bucket.end() ? nullptr : *found;
}

LeasedStore::LeaseRequest& LeasedStore::TakeRequest() {
  if (idle_.empty()) {
    requests_.push_back(std::make_unique<LeaseRequest>(*this));
    idle_.push_back(requests_.back().get());
  }
  LeaseRequest& request = *idle_.back();
  idle_.pop_back();
  return request;
}

LeasedStore::LeaseRequest& LeasedStore::NewRequest(const KeyUse& use, const KeyHash& hash) {
  LeaseRequest& request = TakeRequest();
  request.limit = *use.limit;
  request.hash = hash;
  request.key = use.key;
  request.use = {};
  request.use.key = request.key.view();
  request.use.limit = &*request.limit;
  request.use.cost = 0;
  request.use.lending = &request.lending;
  return request;
}

Completion LeasedStore::Send(LeaseRequest& request, Operation operation) {
  request.call = {.operation = operation, .uses = {&request.use, 1}};
  return Submit(request);
}

Completion LeasedStore::Submit(LeaseRequest& request) {
  request.call.context = &request;
  request.call.on_done = [](StoreCall& /*call*/, void* context) {
    auto& done = *static_cast<LeaseRequest*>(context);
    done.owner.Conclude(done);
  };
  return store_.Submit(request.call);
}

Completion LeasedStore::Fetch(LeaseRequest& request, SteadyTime now) {
  std::int64_t waiting = 0;
  std::int64_t least = 1;
  for (const Waiting& one : request.waiting) {
    const std::int64_t cost = one.call->uses[0].cost;
    least = waiting == 0 ? cost : std::min(least, cost);
    waiting = std::min(waiting + cost, kMaxAmount);
  }
  request.asked = request.waiting.size();
  request.sent = now;
  request.lending.request =
      table_.MakeRequest(request.use.key, *request.limit, waiting, least, now);
  BucketOf(request.hash).push_back(&request);
  return Send(request, Operation::kFetch);
}

void LeasedStore::FetchAhead(const KeyUse& use) {
  const KeyHash hash = hasher_(use.key);
  if (Fetching(hash) != nullptr) return;
  LeaseRequest& request = NewRequest(use, hash);
  if (Fetch(request, options_.now()) == Completion::kNow) Conclude(request);
}

void LeasedStore::Return(const Key& key, const Limit& limit, const algo::lease::Request& reports) {
  KeyUse use;
  use.key = key;
  use.limit = &limit;
  LeaseRequest& request = NewRequest(use, {});
  request.lending.request = reports;
  ++returns_;
  if (Send(request, Operation::kReturn) == Completion::kNow) Conclude(request);
}

void LeasedStore::Conclude(LeaseRequest& request) {
  if (request.call.operation == Operation::kFetch) return ConcludeFetch(request);
  --returns_;
  Recycle(request);
}

void LeasedStore::ConcludeFetch(LeaseRequest& request) {
  const SteadyTime now = options_.now();
  const algo::lease::Grant& grant = request.lending.grant;
  if (request.call.ok) {
    table_.Granted(request.use.key, *request.limit, request.lending.request, request.sent, now,
                   grant);
    if (grant.recall && options_.recall) options_.recall(request.use.key);
    if (options_.on_held) options_.on_held();
  } else {
    table_.Unanswered(request.use.key, now);
  }
  std::erase(BucketOf(request.hash), &request);
  std::size_t again = 0;
  for (std::size_t i = 0; i < request.waiting.size(); ++i) {
    const Waiting waiting = request.waiting[i];
    const SpendAttempt attempt = i < request.asked ? SpendAttempt::kAnswered : SpendAttempt::kAgain;
    if (!Serve(request, *waiting.call, attempt, now)) request.waiting[again++] = waiting;
  }
  request.waiting.resize(again);
  if (again == 0) return Recycle(request);
  // Meanwhile, there may be another request for the same key.
  LeaseRequest* const fetching = Fetching(request.hash);
  if (fetching != nullptr) {
    fetching->waiting.insert(fetching->waiting.end(), request.waiting.begin(),
                             request.waiting.end());
    return Recycle(request);
  }
  request.on_callers_stack = false;
  if (Fetch(request, now) == Completion::kNow) Conclude(request);
}

bool LeasedStore::Serve(LeaseRequest& request, StoreCall& call, SpendAttempt attempt,
                        SteadyTime now) {
  KeyUse& use = call.uses[0];
  algo::lease::Grant& grant = request.lending.grant;
  if (!request.call.ok) {
    Fail(call, request.call.error, now);
    Finish(request, call);
    return true;
  }
  SpendResult spent;
  if (grant.exact && attempt == SpendAttempt::kAnswered) {
    // Not leased: the grant is for the calls of the request.
    spent.decision = grant.tokens >= use.cost ? LeaseDecision::kAllowed : LeaseDecision::kDenied;
    if (spent.decision == LeaseDecision::kAllowed) grant.tokens -= use.cost;
    spent.remaining = grant.left;
    if (spent.decision == LeaseDecision::kDenied) {
      spent.retry_after = grant.retry_after;
      const std::int64_t reported = request.lending.request.least + grant.left;
      spent.still_missing = std::max(use.cost - reported, std::int64_t{0});
    }
    spent.reset_after = grant.reset_after;
    spent.taken_at = grant.taken_at;
  } else {
    spent = table_.Spend(use.key, *use.limit, use.cost, now, attempt, use.series);
  }
  if (spent.decision == LeaseDecision::kNeedsLease) return false;
  if (spent.decision == LeaseDecision::kExact) {
    if (store_.Submit(call) == Completion::kNow) Finish(request, call);
    return true;
  }
  SetVerdict(use, spent);
  call.ok = true;
  call.allowed = spent.decision == LeaseDecision::kAllowed;
  call.affected = 0;
  Finish(request, call);
  return true;
}

// The store did not answer: remembered denials stay.
void LeasedStore::Fail(StoreCall& call, ErrorCode error, SteadyTime now) {
  KeyUse& use = call.uses[0];
  const SpendResult seen = table_.Peek(use.key, *use.limit, use.cost, now);
  call.ok = seen.decision == LeaseDecision::kDenied;
  call.error = error;
  call.allowed = false;
  call.affected = 0;
  if (call.ok) SetVerdict(use, seen);
}

void LeasedStore::Finish(const LeaseRequest& request, StoreCall& call) {
  call.pending = false;
  if (!request.on_callers_stack && call.on_done != nullptr) call.on_done(call, call.context);
}

void LeasedStore::Recycle(LeaseRequest& request) {
  request.waiting.clear();
  request.on_callers_stack = false;
  idle_.push_back(&request);
}

void LeasedStore::Sweep() {
  table_.Sweep(options_.now(),
               [this](const Key& key, const Limit& limit, const algo::lease::Request& request) {
                 Return(key, limit, request);
               });
}

void LeasedStore::EndLeasing() {
  table_.EndLeasing([this](const Key& key, const Limit& limit,
                           const algo::lease::Request& request) { Return(key, limit, request); });
}

void LeasedStore::GiveBack(const Key& key) {
  table_.Recall(key, options_.now(),
                [this](const Key& its_key, const Limit& limit,
                       const algo::lease::Request& request) { Return(its_key, limit, request); });
}

}  // namespace sluice::lease
