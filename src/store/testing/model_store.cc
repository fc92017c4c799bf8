#include "store/testing/model_store.h"

#include <algorithm>
#include <vector>

#include <sluice/limiter.h>

namespace sluice::store::testing {

namespace {

using algo::testing::Integer;

bool IsConcurrency(const Use& use) { return use.limit->algorithm() == Algorithm::kConcurrency; }

std::int64_t Narrow(const Integer& value) { return value.convert_to<std::int64_t>(); }

Micros WaitUntil(const Integer& now, const Integer& moment) {
  if (moment > kMaxWait.count()) return kMaxWait;
  return Micros{Narrow(std::max<Integer>(moment - now, 0))};
}

Integer Clamp(WallTime now) { return algo::ClampTime(now).time_since_epoch().count(); }

}  // namespace

Answered ModelStore::Submit(Call& call) {
  call.allowed = false;
  call.affected = 0;
  const std::optional<ErrorCode> error = Validate(call);
  call.ok = !error.has_value();
  if (error) {
    call.error = *error;
    return Answered::kNow;
  }
  const Integer now = Clamp(call.now);
  switch (call.operation) {
    case Operation::kCheck:
      Decide(call, now, Keep::kYes);
      break;
    case Operation::kPeek:
      Decide(call, now, Keep::kNo);
      break;
    case Operation::kReset:
      Reset(call, now);
      break;
    case Operation::kGrant:
      for (Use& use : call.uses) Grant(use, now);
      break;
    case Operation::kAdjust:
      for (Use& use : call.uses) Adjust(use, now);
      break;
    case Operation::kRelease:
    case Operation::kRenew:
      for (Use& use : call.uses) ReleaseOrRenew(call, use, now);
      break;
    case Operation::kInspect:
      for (Use& use : call.uses) Inspect(use, now);
      break;
  }
  return Answered::kNow;
}

void ModelStore::SubmitBatch(std::span<Call* const> calls) {
  for (Call* call : calls) Submit(*call);
}

std::optional<ErrorCode> ModelStore::Validate(const Call& call) {
  const Operation op = call.operation;
  const bool has_cost = op == Operation::kCheck || op == Operation::kPeek ||
                        op == Operation::kGrant || op == Operation::kAdjust;
  const bool is_about_amounts = op == Operation::kGrant || op == Operation::kAdjust;
  const bool is_about_slots = op == Operation::kRelease || op == Operation::kRenew;
  if (call.uses.size() > kMaxLimitsPerCall) return ErrorCode::kTooManyLimits;
  for (const Use& use : call.uses) {
    if (use.key.tag.size() + use.key.rest.size() > kMaxKeyBytes) return ErrorCode::kInvalidKey;
    if (has_cost && use.cost < (op == Operation::kGrant ? 1 : 0)) return ErrorCode::kInvalidCost;
    if (is_about_amounts && IsConcurrency(use)) return ErrorCode::kNotSupported;
    if (is_about_slots && !IsConcurrency(use)) return ErrorCode::kNotSupported;
  }
  return std::nullopt;
}

ModelStore::KeyName ModelStore::NameOf(const Use& use) {
  return {std::string(use.key.scope), std::string(use.key.tag), std::string(use.key.rest)};
}

ModelStore::Record* ModelStore::FindLive(const Use& use, const Integer& now) {
  const auto found = keys_.find(NameOf(use));
  if (found == keys_.end()) return nullptr;
  Record& record = found->second;
  const bool is_fresh = record.grant == 0 && record.model.WhenFresh() <= now;
  return is_fresh ? nullptr : &record;
}

ModelStore::View ModelStore::Look(const Use& use, const Integer& now) {
  const LimitNumbers& limit = use.limit->numbers();
  const Record* stored = FindLive(use, now);
  View view{.record = stored ? *stored : Record{algo::testing::KeyModel(limit, now)}};
  view.must_write = view.record.model.Advance(limit, now) == algo::ClockSeen::kSetBack;
  view.delay_at_first = view.record.model.Delay();
  return view;
}

std::map<ModelStore::KeyName, ModelStore::View> ModelStore::LookAtAll(const Call& call,
                                                                      const Integer& now) {
  std::map<KeyName, View> views;
  for (const Use& use : call.uses) {
    if (!views.contains(NameOf(use))) views.emplace(NameOf(use), Look(use, now));
  }
  return views;
}

void ModelStore::Write(const Use& use, const View& view) {
  keys_.insert_or_assign(NameOf(use), view.record);
}

void ModelStore::Decide(Call& call, const Integer& now, Keep keep) {
  std::map<KeyName, View> views = LookAtAll(call, now);
  call.allowed = true;
  for (Use& use : call.uses) {
    const Judgement judgement = Judge(use, now, views.at(NameOf(use)));
    use.verdict = {.outcome = judgement.outcome, .retry_after = judgement.retry_after};
    if (use.mode == Mode::kEnforce && judgement.outcome != Outcome::kAllowed) call.allowed = false;
  }
  for (Use& use : call.uses) {
    View& view = views.at(NameOf(use));
    Settle(call, use, view);
    const Verdict status = Status(view, now);
    use.verdict.limit = status.limit;
    use.verdict.remaining = status.remaining;
    use.verdict.reset_after = status.reset_after;
    if (keep == Keep::kNo) use.receipt = Receipt{};
  }
  if (keep == Keep::kNo) return;
  for (const Use& use : call.uses) {
    const View& view = views.at(NameOf(use));
    if (view.must_write) Write(use, view);
  }
}

ModelStore::Judgement ModelStore::Judge(const Use& use, const Integer& now, View& view) {
  const Integer cost = use.cost;
  const bool holds_slot = view.record.model.Holds(use.slot) || view.pending_slots.contains(use.slot);
  if (cost == 0 || holds_slot) return {};

  const Integer needed = view.pending + cost - view.record.grant;
  const bool fits = needed <= 0 || needed <= view.record.model.Left();
  if (use.mode == Mode::kForce || (fits && use.mode == Mode::kEnforce)) {
    view.pending += cost;
    if (IsConcurrency(use) && use.slot != 0) view.pending_slots.insert(use.slot);
  }
  if (use.mode == Mode::kForce || fits) return {};
  if (needed > use.limit->cap()) return {Outcome::kNeverFits, kMaxWait};
  return {Outcome::kDenied, WaitUntil(now, view.record.model.WhenLeft(needed))};
}

/// Takes for one use what the decision, which is known by now, says.
void ModelStore::Settle(const Call& call, Use& use, View& view) {
  use.receipt = Receipt{};
  if (call.allowed) {
    if (use.verdict.outcome != Outcome::kAllowed) return;
    use.receipt = Take(use, use.cost, view);
    if (use.receipt.amount > 0) use.verdict.delay = Micros{Narrow(view.delay_at_first)};
  } else if (use.count_denied && use.mode != Mode::kShadow && !IsConcurrency(use)) {
    const Integer left = std::max<Integer>(view.record.model.Left(), 0) + view.record.grant;
    use.receipt = Take(use, std::min<Integer>(use.cost, left), view);
  }
}

Receipt ModelStore::Take(const Use& use, const Integer& cost, View& view) {
  if (cost == 0) return {};
  view.must_write = true;
  const Integer from_grant = std::min(view.record.grant, cost);
  const Integer from_limit = cost - from_grant;
  Receipt receipt{.amount = Narrow(from_limit), .from_grant = Narrow(from_grant)};
  if (IsConcurrency(use)) {
    receipt.slot = use.slot != 0 ? use.slot : ++last_slot_;
    if (view.record.model.Holds(receipt.slot)) receipt.amount = 0;
  }
  if (from_limit > 0) view.record.model.Take(from_limit, receipt.slot);
  view.record.grant -= from_grant;
  receipt.at = WallTime{Micros{Narrow(view.record.model.ReceiptTime())}};
  return receipt;
}

Verdict ModelStore::Status(const View& view, const Integer& now) {
  const algo::testing::KeyModel& model = view.record.model;
  const Integer left = std::max<Integer>(model.Left(), 0);
  return {.limit = model.limit().cap,
          .remaining = Narrow(left + view.record.grant),
          .reset_after = WaitUntil(now, model.WhenFresh())};
}

void ModelStore::Reset(Call& call, const Integer& now) {
  for (const Use& use : call.uses) {
    if (FindLive(use, now) != nullptr) ++call.affected;
    keys_.erase(NameOf(use));
  }
}

void ModelStore::Grant(Use& use, const Integer& now) {
  View view = Look(use, now);
  view.record.grant = std::min<Integer>(view.record.grant + use.cost, kMaxAmount);
  Write(use, view);
  use.verdict = Status(view, now);
}

void ModelStore::Adjust(Use& use, const Integer& now) {
  View view = Look(use, now);
  const Integer taken = Integer(use.receipt.amount) + use.receipt.from_grant;
  const Integer at = use.receipt.at.time_since_epoch().count();
  if (use.cost > taken) {
    view.record.model.Adjust(at, use.cost - taken);
  } else {
    const Integer back = taken - use.cost;
    const Integer to_limit = std::min<Integer>(back, use.receipt.amount);
    view.record.model.Adjust(at, -to_limit);
    view.record.grant = std::min<Integer>(view.record.grant + back - to_limit, kMaxAmount);
  }
  Write(use, view);
  use.verdict = Status(view, now);
}

void ModelStore::ReleaseOrRenew(Call& call, Use& use, const Integer& now) {
  View view = Look(use, now);
  const bool held = call.operation == Operation::kRelease ? view.record.model.Release(use.slot)
                                                          : view.record.model.Renew(use.slot);
  if (held) ++call.affected;
  if (held || view.must_write) Write(use, view);
}

void ModelStore::Inspect(Use& use, const Integer& now) {
  const View view = Look(use, now);
  use.verdict = Status(view, now);
  use.inspection->live = view.record.grant > 0 || view.record.model.WhenFresh() > now;
  use.inspection->level = Narrow(view.record.model.Left());
  use.inspection->grant = Narrow(view.record.grant);
}

}  // namespace sluice::store::testing
