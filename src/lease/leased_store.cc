#include "lease/leased_store.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "store/decide.h"

namespace sluice::lease {

using store::Answered;
using store::Call;
using store::Operation;
using store::Use;

namespace {

bool MayLease(const Use& use) {
  return use.may_lease && use.mode == Mode::kEnforce && !use.count_denied && !use.only_looks &&
         use.cost >= 1 && use.cost <= use.limit->cap() && store::Fits(use.key);
}

bool MayLease(const Call& call) {
  return call.operation == Operation::kCheck && !call.uses.empty() &&
         call.uses.size() <= kMaxLimitsPerCall &&
         std::all_of(call.uses.begin(), call.uses.end(),
                     [](const Use& use) { return MayLease(use); });
}

bool ChangesWhatWasDenied(const Call& call) {
  const bool changes = call.operation == Operation::kReset || call.operation == Operation::kGrant ||
                       call.operation == Operation::kAdjust;
  return changes && std::any_of(call.uses.begin(), call.uses.end(),
                                [](const Use& use) { return use.may_lease; });
}

// How long a bucket takes to refill by so much, at most `longest`.
Micros RefillTime(const LimitNumbers& limit, std::int64_t missing, Micros longest) {
  const double wait = static_cast<double>(missing) * static_cast<double>(limit.rate_den) *
                      static_cast<double>(limit.interval.count()) /
                      static_cast<double>(limit.rate_num);
  return Micros{
      static_cast<std::int64_t>(std::ceil(std::min(wait, static_cast<double>(longest.count()))))};
}

// The store told when the cheapest call that waited may pass. Windows end for all of them.
Micros RetryAfter(const LimitNumbers& limit, const Spent& spent) {
  if (limit.algorithm != Algorithm::kTokenBucket) return spent.retry_after;
  return spent.retry_after + RefillTime(limit, spent.still_missing, kMaxWait - spent.retry_after);
}

// A bucket is full when what is missing has refilled. The store says later: for it, what nodes hold
// comes back when their leases end.
Micros ResetAfter(const LimitNumbers& limit, const Spent& spent) {
  if (limit.algorithm != Algorithm::kTokenBucket) return spent.reset_after;
  const std::int64_t missing = std::max(limit.cap - spent.remaining, std::int64_t{0});
  return std::max(RefillTime(limit, missing, spent.reset_after), RetryAfter(limit, spent));
}

void Tell(Use& use, const Spent& spent) {
  const bool allowed = spent.local == Local::kAllowed;
  use.verdict = {.outcome = allowed ? Outcome::kAllowed : Outcome::kDenied,
                 .limit = use.limit->cap(),
                 .remaining = std::min(spent.remaining, use.limit->cap()),
                 .retry_after = RetryAfter(use.limit->numbers(), spent),
                 .reset_after = ResetAfter(use.limit->numbers(), spent)};
  use.receipt = {};
  if (allowed) use.receipt = {.amount = use.cost, .from_grant = 0, .at = spent.taken_at};
}

void TellCall(Call& call, bool allowed) {
  call.ok = true;
  call.allowed = allowed;
  call.affected = 0;
  call.pending = false;
}

}  // namespace

/// A request on its way to the store, with all that it points to. Used again and again.
struct LeasedStore::Errand {
  explicit Errand(LeasedStore& its_owner) : owner(its_owner) {}

  LeasedStore& owner;
  Call call;
  Use use;
  store::Lending lending;
  std::optional<Limit> limit;
  std::string text;  ///< The key's parts.
  KeyHash hash{};
  SteadyTime sent{};
  std::vector<Waiting> waiting;
  std::size_t asked = 0;  ///< The first so many of them are asked for; the others came later.
  bool on_callers_stack = false;
};

LeasedStore::LeasedStore(store::Store& store, LeaseTable& table, LeasedStoreOptions options)
    : store_(store), table_(table), options_(std::move(options)) {}

LeasedStore::~LeasedStore() = default;

Answered LeasedStore::Submit(Call& call) {
  if (MayLease(call)) {
    switch (call.uses.size() == 1 ? TryOne(call) : TryAll(call)) {
      case Told::kAnswered:
        return Answered::kNow;
      case Told::kWaits:
        return Answered::kLater;
      case Told::kAskStore:
        break;
    }
  }
  return ChangesWhatWasDenied(call) ? Change(call) : store_.Submit(call);
}

void LeasedStore::SubmitBatch(std::span<Call* const> calls) {
  for (Call* call : calls) Submit(*call);
}

bool AnswerFrom(LeaseTable& table, Call& call, SteadyTime now, bool& wants_more) {
  if (!MayLease(call) || call.uses.size() != 1) return false;
  Use& use = call.uses[0];
  const Spent spent = table.Spend(use.key, *use.limit, use.cost, now, Turn::kTry, use.series);
  if (spent.local == Local::kAsk || spent.local == Local::kExact) return false;
  Tell(use, spent);
  TellCall(call, spent.local == Local::kAllowed);
  wants_more = spent.fetch_ahead;
  return true;
}

LeasedStore::Told LeasedStore::TryOne(Call& call) {
  Use& use = call.uses[0];
  const SteadyTime now = options_.now();
  const Spent spent = table_.Spend(use.key, *use.limit, use.cost, now, Turn::kNew, use.series);
  if (spent.local == Local::kExact) return Told::kAskStore;
  if (spent.local == Local::kAsk) return Wait(call, now);
  Tell(use, spent);
  TellCall(call, spent.local == Local::kAllowed);
  if (spent.fetch_ahead) FetchAhead(use);
  return Told::kAnswered;
}

LeasedStore::Told LeasedStore::TryAll(Call& call) {
  const SteadyTime now = options_.now();
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    Use& use = call.uses[i];
    const Spent spent = table_.Spend(use.key, *use.limit, use.cost, now, Turn::kNew, use.series);
    if (spent.fetch_ahead || spent.local == Local::kAsk) FetchAhead(use);
    Tell(use, spent);
    if (spent.local == Local::kAllowed) continue;
    for (std::size_t taken = 0; taken < i; ++taken) {
      table_.Unspend(call.uses[taken].key, call.uses[taken].cost);
    }
    const bool denied = spent.local == Local::kDenied && TellOthers(call, i, now);
    if (denied) TellCall(call, false);
    return denied ? Told::kAnswered : Told::kAskStore;
  }
  TellCall(call, true);
  return Told::kAnswered;
}

// A denial tells of every limit what would be left: whether the table knows that.
bool LeasedStore::TellOthers(Call& call, std::size_t denied, SteadyTime now) {
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    if (i == denied) continue;
    Use& use = call.uses[i];
    const Spent seen = table_.Look(use.key, *use.limit, use.cost, now);
    if (seen.local == Local::kExact || seen.local == Local::kAsk) return false;
    Tell(use, seen);
    use.receipt = {};
  }
  return true;
}

LeasedStore::Told LeasedStore::Wait(Call& call, SteadyTime now) {
  const KeyHash hash = hasher_(call.uses[0].key);
  if (Errand* const fetching = Fetching(hash)) {
    call.pending = true;
    fetching->waiting.push_back({&call, Until(call, now)});
    return Told::kWaits;
  }
  Errand& errand = NewErrand(call.uses[0], hash);
  errand.waiting.push_back({&call, Until(call, now)});
  errand.on_callers_stack = true;
  call.pending = true;
  if (Fetch(errand, now) == Answered::kNow) {
    Conclude(errand);
    return call.pending ? Told::kWaits : Told::kAnswered;
  }
  errand.on_callers_stack = false;
  return Told::kWaits;
}

SteadyTime LeasedStore::Until(const Call& call, SteadyTime now) {
  if (call.patience == Micros{0}) return SteadyTime::max();
  const SteadyTime until = now + call.patience;
  if (until < next_give_up_ && options_.wake) {
    next_give_up_ = until;
    options_.wake(until);
  }
  return until;
}

void LeasedStore::GiveUp() {
  const SteadyTime now = options_.now();
  next_give_up_ = SteadyTime::max();
  std::vector<Call*> over;  // Told at the end: who is told may ask again.
  for (const std::vector<Errand*>& place : fetching_) {
    for (Errand* const errand : place) {
      std::size_t kept = 0;
      std::size_t asked = 0;
      for (std::size_t i = 0; i < errand->waiting.size(); ++i) {
        const Waiting waiting = errand->waiting[i];
        if (waiting.until <= now) {
          over.push_back(waiting.call);
          continue;
        }
        next_give_up_ = std::min(next_give_up_, waiting.until);
        if (i < errand->asked) ++asked;
        errand->waiting[kept++] = waiting;
      }
      errand->waiting.resize(kept);
      errand->asked = asked;
    }
  }
  if (next_give_up_ < SteadyTime::max() && options_.wake) options_.wake(next_give_up_);
  for (Call* const call : over) {
    call->ok = false;
    call->error = ErrorCode::kStoreTimeout;
    call->pending = false;
    if (call->on_done != nullptr) call->on_done(*call, call->context);
  }
}

LeasedStore::Errand* LeasedStore::Fetching(const KeyHash& hash) {
  const std::vector<Errand*>& place = PlaceOf(hash);
  const auto found = std::find_if(place.begin(), place.end(),
                                  [&](const Errand* errand) { return errand->hash == hash; });
  return found == place.end() ? nullptr : *found;
}

// What was denied may pass once the store has answered, and not before.
Answered LeasedStore::Change(Call& call) {
  Errand& errand = TakeErrand();
  errand.waiting.push_back({&call, SteadyTime::max()});
  errand.call = {
      .operation = call.operation, .uses = call.uses, .now = call.now, .patience = call.patience};
  call.pending = true;
  if (Submit(errand) == Answered::kLater) return Answered::kLater;
  errand.on_callers_stack = true;
  ConcludeChange(errand);
  return Answered::kNow;
}

void LeasedStore::ConcludeChange(Errand& errand) {
  Call& call = *errand.waiting[0].call;
  call.ok = errand.call.ok;
  call.error = errand.call.error;
  call.allowed = errand.call.allowed;
  call.affected = errand.call.affected;
  for (const Use& use : call.uses) {
    if (!use.may_lease) continue;
    table_.Changed(use.key);
    if (options_.changed) options_.changed(use.key);
  }
  Finish(errand, call);
  Recycle(errand);
}

LeasedStore::Errand& LeasedStore::TakeErrand() {
  if (idle_.empty()) {
    errands_.push_back(std::make_unique<Errand>(*this));
    idle_.push_back(errands_.back().get());
  }
  Errand& errand = *idle_.back();
  idle_.pop_back();
  return errand;
}

LeasedStore::Errand& LeasedStore::NewErrand(const Use& use, const KeyHash& hash) {
  Errand& errand = TakeErrand();
  errand.limit = *use.limit;
  errand.hash = hash;
  errand.text.assign(use.key.scope).append(use.key.tag).append(use.key.rest);
  const std::string_view text = errand.text;
  errand.use = {};
  errand.use.key.scope = text.substr(0, use.key.scope.size());
  errand.use.key.tag = text.substr(use.key.scope.size(), use.key.tag.size());
  errand.use.key.rest = text.substr(use.key.scope.size() + use.key.tag.size());
  errand.use.limit = &*errand.limit;
  errand.use.cost = 0;
  errand.use.lending = &errand.lending;
  return errand;
}

Answered LeasedStore::Send(Errand& errand, Operation operation) {
  errand.call = {.operation = operation, .uses = {&errand.use, 1}};
  return Submit(errand);
}

Answered LeasedStore::Submit(Errand& errand) {
  errand.call.context = &errand;
  errand.call.on_done = [](Call& /*call*/, void* context) {
    auto& done = *static_cast<Errand*>(context);
    done.owner.Conclude(done);
  };
  return store_.Submit(errand.call);
}

Answered LeasedStore::Fetch(Errand& errand, SteadyTime now) {
  std::int64_t waiting = 0;
  std::int64_t least = 1;
  for (const Waiting& one : errand.waiting) {
    const std::int64_t cost = one.call->uses[0].cost;
    least = waiting == 0 ? cost : std::min(least, cost);
    waiting = std::min(waiting + cost, kMaxAmount);
  }
  errand.asked = errand.waiting.size();
  errand.sent = now;
  errand.lending.request = table_.Ask(errand.use.key, *errand.limit, waiting, least, now);
  PlaceOf(errand.hash).push_back(&errand);
  return Send(errand, Operation::kFetch);
}

void LeasedStore::FetchAhead(const Use& use) {
  const KeyHash hash = hasher_(use.key);
  if (Fetching(hash) != nullptr) return;
  Errand& errand = NewErrand(use, hash);
  if (Fetch(errand, options_.now()) == Answered::kNow) Conclude(errand);
}

void LeasedStore::Return(const Key& key, const Limit& limit, const algo::lease::Request& request) {
  Use use;
  use.key = key;
  use.limit = &limit;
  Errand& errand = NewErrand(use, {});
  errand.lending.request = request;
  if (Send(errand, Operation::kReturn) == Answered::kNow) Conclude(errand);
}

void LeasedStore::Conclude(Errand& errand) {
  switch (errand.call.operation) {
    case Operation::kFetch:
      return ConcludeFetch(errand);
    case Operation::kReturn:
      return Recycle(errand);
    default:
      return ConcludeChange(errand);
  }
}

void LeasedStore::ConcludeFetch(Errand& errand) {
  const SteadyTime now = options_.now();
  const algo::lease::Grant& grant = errand.lending.grant;
  if (errand.call.ok) {
    table_.Granted(errand.use.key, errand.lending.request, errand.sent, now, grant);
    if (grant.recall && options_.recall) options_.recall(errand.use.key);
    if (options_.on_held) options_.on_held();
  } else {
    table_.Unanswered(errand.use.key);
  }
  std::erase(PlaceOf(errand.hash), &errand);
  std::size_t again = 0;
  for (std::size_t i = 0; i < errand.waiting.size(); ++i) {
    const Waiting waiting = errand.waiting[i];
    const Turn turn = i < errand.asked ? Turn::kAnswered : Turn::kAgain;
    if (!Serve(errand, *waiting.call, turn, now)) errand.waiting[again++] = waiting;
  }
  errand.waiting.resize(again);
  if (again == 0) return Recycle(errand);
  // Meanwhile, somebody may have asked for the same key again.
  Errand* const fetching = Fetching(errand.hash);
  if (fetching != nullptr) {
    fetching->waiting.insert(fetching->waiting.end(), errand.waiting.begin(), errand.waiting.end());
    return Recycle(errand);
  }
  errand.on_callers_stack = false;
  if (Fetch(errand, now) == Answered::kNow) Conclude(errand);
}

bool LeasedStore::Serve(Errand& errand, Call& call, Turn turn, SteadyTime now) {
  Use& use = call.uses[0];
  algo::lease::Grant& grant = errand.lending.grant;
  if (!errand.call.ok) {
    call.ok = false;
    call.error = errand.call.error;
    Finish(errand, call);
    return true;
  }
  Spent spent;
  if (grant.exact && turn == Turn::kAnswered) {
    // Not leased: what was granted is for those who were asked for.
    spent.local = grant.tokens >= use.cost ? Local::kAllowed : Local::kDenied;
    if (spent.local == Local::kAllowed) grant.tokens -= use.cost;
    spent.remaining = grant.left;
    if (spent.local == Local::kDenied) {
      spent.retry_after = grant.retry_after;
      const std::int64_t told_of = errand.lending.request.least + grant.left;
      spent.still_missing = std::max(use.cost - told_of, std::int64_t{0});
    }
    spent.reset_after = grant.reset_after;
    spent.taken_at = grant.taken_at;
  } else {
    spent = table_.Spend(use.key, *use.limit, use.cost, now, turn, use.series);
  }
  if (spent.local == Local::kAsk) return false;
  if (spent.local == Local::kExact) {
    if (store_.Submit(call) == Answered::kNow) Finish(errand, call);
    return true;
  }
  Tell(use, spent);
  call.ok = true;
  call.allowed = spent.local == Local::kAllowed;
  call.affected = 0;
  Finish(errand, call);
  return true;
}

void LeasedStore::Finish(const Errand& errand, Call& call) {
  call.pending = false;
  if (!errand.on_callers_stack && call.on_done != nullptr) call.on_done(call, call.context);
}

void LeasedStore::Recycle(Errand& errand) {
  errand.waiting.clear();
  errand.on_callers_stack = false;
  idle_.push_back(&errand);
}

void LeasedStore::Sweep() {
  table_.Sweep(options_.now(),
               [this](const Key& key, const Limit& limit, const algo::lease::Request& request) {
                 Return(key, limit, request);
               });
}

void LeasedStore::GiveBack(const Key& key) {
  table_.Recall(key, options_.now(),
                [this](const Key& its_key, const Limit& limit,
                       const algo::lease::Request& request) { Return(its_key, limit, request); });
}

}  // namespace sluice::lease
