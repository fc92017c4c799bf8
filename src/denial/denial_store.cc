#include "denial/denial_store.h"

#include <algorithm>
#include <string>
#include <utility>

#include "store/decide.h"

namespace sluice::denial {

using store::Completion;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

namespace {

bool IsRemembered(const KeyUse& use) {
  return use.mode == Mode::kEnforce && !use.count_denied && !use.only_looks && use.cost >= 1 &&
         use.limit->algorithm() != Algorithm::kConcurrency && store::Fits(use.key);
}

bool AnyIsRemembered(const StoreCall& call) {
  return call.uses.size() <= kMaxLimitsPerCall &&
         std::any_of(call.uses.begin(), call.uses.end(),
                     [](const KeyUse& use) { return IsRemembered(use); });
}

// Returns whether denied calls may pass after the operation, because it may give units back. (Not
// kRelease: denials of concurrency limits are not remembered.)
bool MayGiveBack(Operation operation) {
  return operation == Operation::kReset || operation == Operation::kGrant ||
         operation == Operation::kAdjust;
}

// Denied calls consume from such a limit, so they must reach the store.
bool CountsDenied(const StoreCall& call) {
  return std::any_of(call.uses.begin(), call.uses.end(),
                     [](const KeyUse& use) { return use.count_denied; });
}

// A later use of the same key was evaluated with the total cost of the uses before it.
bool IsFirstOfItsKey(std::span<const KeyUse> uses, std::size_t index) {
  return std::none_of(uses.begin(), uses.begin() + static_cast<std::ptrdiff_t>(index),
                      [&](const KeyUse& use) { return use.key == uses[index].key; });
}

// Sets the verdicts from remembered denials. Returns kDenied if a use is denied and not due, kDue
// if all denied uses are due.
DenialAdvice WriteVerdicts(const DenialTable& table, std::span<KeyUse> uses,
                           const DenialTable::TimeSource& now) {
  DenialAdvice advice = DenialAdvice::kUnknown;
  for (KeyUse& use : uses) {
    const Denial denial =
        IsRemembered(use) ? table.Find(use.key, *use.limit, use.cost, now) : Denial{};
    const std::int64_t cap = use.limit->cap();
    use.receipt = {};
    if (!denial.is_denied()) {
      use.verdict = {.limit = cap, .remaining = cap};
      continue;
    }
    use.verdict = denial.VerdictOf(use.limit->numbers(), use.cost);
    if (advice != DenialAdvice::kDenied) advice = denial.advice;
  }
  return advice;
}

void WriteDenial(DenialTable& table, StoreCall& call) {
  call.ok = true;
  call.allowed = false;
  call.affected = 0;
  call.pending = false;
  table.CountAnswer();
}

// Denies the call from remembered denials, even if a real check is due.
bool DenyAnyway(DenialTable& table, StoreCall& call, const DenialTable::TimeSource& now) {
  if (!AnyIsRemembered(call)) return false;
  if (WriteVerdicts(table, call.uses, now) == DenialAdvice::kUnknown) return false;
  WriteDenial(table, call);
  return true;
}

}  // namespace

bool AnswerFrom(DenialTable& table, StoreCall& call, const DenialTable::TimeSource& now) {
  if (call.operation != Operation::kCheck || !AnyIsRemembered(call) || CountsDenied(call)) {
    return false;
  }
  if (call.uses.size() == 1) {
    KeyUse& use = call.uses[0];
    const Denial denial = table.Find(use.key, *use.limit, use.cost, now);
    if (denial.advice != DenialAdvice::kDenied) return false;
    use.verdict = denial.VerdictOf(use.limit->numbers(), use.cost);
    use.receipt = {};
  } else {
    if (WriteVerdicts(table, call.uses, now) != DenialAdvice::kDenied) return false;
    if (store::Refusal(call)) return false;
  }
  WriteDenial(table, call);
  return true;
}

/// A call in flight to the store. Recycled.
struct DenialStore::Request {
  explicit Request(DenialStore& its_owner) : owner(its_owner) {}

  // Copies the data of the call, which its caller may destroy before the store answers.
  void Detach(std::span<const KeyUse> of_caller) {
    uses.assign(of_caller.begin(), of_caller.end());
    limits.clear();
    text.clear();
    for (const KeyUse& use : of_caller) {
      limits.push_back(*use.limit);
      text.append(use.key.scope).append(use.key.tag).append(use.key.rest);
    }
    std::string_view rest = text;
    const auto take = [&](std::string_view part) {
      const std::string_view copied = rest.substr(0, part.size());
      rest.remove_prefix(part.size());
      return copied;
    };
    for (std::size_t i = 0; i < uses.size(); ++i) {
      KeyUse& use = uses[i];
      use.key = {
          .scope = take(use.key.scope), .tag = take(use.key.tag), .rest = take(use.key.rest)};
      use.limit = &limits[i];
    }
    call.uses = uses;
  }

  // Releases the memory of an unusually large call.
  void Trim() {
    constexpr std::size_t kKeptText = 1024;
    constexpr std::size_t kKeptUses = 16;
    if (text.capacity() > kKeptText) text = {};
    if (uses.capacity() > kKeptUses) uses = {};
    if (limits.capacity() > kKeptUses) limits = {};
  }

  DenialStore& owner;
  StoreCall call;
  StoreCall* caller = nullptr;  ///< Null: it was answered.
  SteadyTime sent{};
  std::uint64_t number = 0;
  bool is_probe = false;
  bool is_detached = false;
  bool on_callers_stack = false;
  std::vector<KeyUse> uses;
  std::vector<Limit> limits;
  std::string text;  ///< The keys' parts.
};

DenialStore::DenialStore(store::Store& store, DenialTable& table, StoreOptions options)
    : store_(store), table_(table), options_(std::move(options)) {}

DenialStore::~DenialStore() = default;

Completion DenialStore::Submit(StoreCall& call) {
  if (MayGiveBack(call.operation)) return Change(call);
  if (call.operation != Operation::kCheck || !AnyIsRemembered(call)) return store_.Submit(call);
  if (call.uses.size() > 1) return CheckSeveral(call);
  KeyUse& use = call.uses[0];
  const Denial denial = table_.FindOrProbe(use.key, *use.limit, use.cost, options_.now);
  if (denial.advice != DenialAdvice::kDenied)
    return Check(call, denial.advice == DenialAdvice::kProbe);
  use.verdict = denial.VerdictOf(use.limit->numbers(), use.cost);
  use.receipt = {};
  WriteDenial(table_, call);
  return Completion::kNow;
}

void DenialStore::SubmitBatch(std::span<StoreCall* const> calls) {
  for (StoreCall* call : calls) Submit(*call);
}

Completion DenialStore::CheckSeveral(StoreCall& call) {
  const DenialAdvice advice = WriteVerdicts(table_, call.uses, options_.now);
  if (advice == DenialAdvice::kUnknown || CountsDenied(call)) return Check(call, false);
  if (store::Refusal(call)) return store_.Submit(call);
  if (advice == DenialAdvice::kDue && TakeProbes(call.uses)) return Check(call, true);
  WriteDenial(table_, call);
  return Completion::kNow;
}

// Returns false if another call became the real check first.
bool DenialStore::TakeProbes(std::span<const KeyUse> uses) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const KeyUse& use = uses[i];
    if (!IsRemembered(use) || !IsFirstOfItsKey(uses, i)) continue;
    const Denial denial = table_.FindOrProbe(use.key, *use.limit, use.cost, options_.now);
    if (denial.advice != DenialAdvice::kDenied) continue;
    for (std::size_t taken = 0; taken < i; ++taken) {
      if (IsRemembered(uses[taken])) table_.Unprobe(uses[taken].key);
    }
    return false;
  }
  return true;
}

Completion DenialStore::Check(StoreCall& call, bool is_probe) {
  Request& request = TakeRequest(call);
  request.sent = options_.sent ? options_.sent() : options_.now();
  request.is_probe = is_probe;
  request.is_detached = call.timeout > Micros{0} && call.timeout < options_.deadline;
  if (request.is_detached) {
    request.Detach(call.uses);
    request.call.timeout = Micros{0};
    SetDeadline(request);
  }
  return Send(request);
}

// Denials are dropped when the change is sent, so that the store decides later calls, and again
// when it is done.
Completion DenialStore::Change(StoreCall& call) {
  Drop(call);
  return Send(TakeRequest(call));
}

DenialStore::Request& DenialStore::TakeRequest(StoreCall& call) {
  if (idle_.empty()) {
    requests_.push_back(std::make_unique<Request>(*this));
    idle_.push_back(requests_.back().get());
  }
  Request& request = *idle_.back();
  idle_.pop_back();
  request.number = ++numbers_;
  request.caller = &call;
  request.is_probe = request.is_detached = false;
  request.call = {
      .operation = call.operation, .uses = call.uses, .now = call.now, .timeout = call.timeout};
  request.call.context = &request;
  request.call.on_done = [](StoreCall& /*call*/, void* context) {
    auto& done = *static_cast<Request*>(context);
    done.owner.Conclude(done);
  };
  return request;
}

Completion DenialStore::Send(Request& request) {
  request.caller->pending = true;
  if (store_.Submit(request.call) == Completion::kLater) return Completion::kLater;
  request.on_callers_stack = true;
  Conclude(request);
  return Completion::kNow;
}

void DenialStore::Conclude(Request& request) {
  if (request.call.operation == Operation::kCheck) {
    Learn(request);
  } else {
    Drop(request.call);
    Announce(request.call);
  }
  StoreCall* const caller = std::exchange(request.caller, nullptr);
  if (caller != nullptr) {
    caller->ok = request.call.ok;
    caller->error = request.call.error;
    caller->allowed = request.call.allowed;
    caller->affected = request.call.affected;
    for (std::size_t i = 0; request.is_detached && i < caller->uses.size(); ++i) {
      caller->uses[i].verdict = request.uses[i].verdict;
      caller->uses[i].receipt = request.uses[i].receipt;
      caller->uses[i].no_room = request.uses[i].no_room;
    }
  }
  const bool on_callers_stack = std::exchange(request.on_callers_stack, false);
  request.Trim();
  idle_.push_back(&request);
  if (caller == nullptr) return;
  Finish(*caller, on_callers_stack);
}

// A failed check is denied if a denial is remembered.
void DenialStore::Finish(StoreCall& call, bool on_callers_stack) {
  call.pending = false;
  if (!call.ok && call.operation == Operation::kCheck && !store::IsCallError(call.error)) {
    DenyAnyway(table_, call, options_.now);
  }
  if (!on_callers_stack && call.on_done != nullptr) call.on_done(call, call.context);
}

void DenialStore::Learn(const Request& request) {
  const StoreCall& call = request.call;
  const auto check =
      request.is_probe ? DenialTable::CheckKind::kProbe : DenialTable::CheckKind::kOrdinary;
  if (!call.ok && !request.is_probe) return;
  bool any_denied = false;
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    const KeyUse& use = call.uses[i];
    if (!IsRemembered(use)) continue;
    if (!call.ok) {
      table_.Failed(use.key, options_.now());
    } else if (use.verdict.outcome == Outcome::kAllowed) {
      if (request.is_probe) table_.Passed(use.key, *use.limit, use.cost, request.sent);
    } else if (IsFirstOfItsKey(call.uses, i)) {
      table_.Denied(use.key, *use.limit, use.cost, request.sent, use.verdict, check);
      any_denied = true;
    }
  }
  if (any_denied && options_.on_remembered) options_.on_remembered();
}

void DenialStore::Drop(const StoreCall& call) {
  const SteadyTime now = options_.now();
  for (const KeyUse& use : call.uses) table_.Drop(use.key, now);
}

// Charges, and adjustments without effect, don't change denials.
void DenialStore::Announce(const StoreCall& call) {
  if (!options_.changed) return;
  for (const KeyUse& use : call.uses) {
    const bool adjusts = call.operation == Operation::kAdjust;
    const bool is_settled = adjusts && call.ok && use.settlement != nullptr;
    const bool charges = is_settled
                             ? use.settlement->total >= use.settlement->charged
                             : adjusts && use.cost >= use.receipt.amount + use.receipt.from_grant;
    const bool repeats = is_settled && use.settlement->repeated;
    if (!charges && !repeats) options_.changed(use.key);
  }
}

void DenialStore::SetDeadline(Request& request) {
  const SteadyTime when = request.sent + request.caller->timeout;
  deadlines_.push_back({when, &request, request.number});
  std::push_heap(deadlines_.begin(), deadlines_.end());
  if (when >= next_wake_ || !options_.wake) return;
  next_wake_ = when;
  options_.wake(when);
}

void DenialStore::ExpireCalls() {
  const SteadyTime now = options_.now();
  std::vector<StoreCall*> expired;  // Finished at the end: their callers may submit again.
  while (!deadlines_.empty()) {
    const Deadline next = deadlines_.front();
    const bool waits = next.request->number == next.number && next.request->caller != nullptr;
    if (waits && next.when > now) break;
    std::pop_heap(deadlines_.begin(), deadlines_.end());
    deadlines_.pop_back();
    if (waits) expired.push_back(std::exchange(next.request->caller, nullptr));
  }
  next_wake_ = deadlines_.empty() ? SteadyTime::max() : deadlines_.front().when;
  if (!deadlines_.empty() && options_.wake) options_.wake(next_wake_);
  for (StoreCall* const call : expired) {
    call->ok = false;
    call->error = ErrorCode::kStoreTimeout;
    Finish(*call, false);
  }
}

}  // namespace sluice::denial
