// The functions of Limiter that take rules.

#include <utility>

#include <sluice/limiter.h>

#include "base/clock.h"
#include "lib/limiter_parts.h"
#include "lib/rules_in_force.h"
#include "limiter/limiter.h"

namespace sluice {

using limiter::CheckRequest;
using store::Operation;

RuleStatus StatusOf(const CheckRequest& check, std::size_t i) {
  const store::KeyUse& use = check.uses()[i];
  const match::MatchedLimit& matched = check.matched(i);
  return {.rule = matched.rule->id,
          .name = matched.limit->name,
          .is_shadow = use.mode == Mode::kShadow,
          .limit = *use.limit,
          .verdict = use.verdict,
          .receipt = use.receipt,
          .scope = std::string(use.key.scope),
          .tag = std::string(use.key.tag),
          .rest = std::string(use.key.rest),
          .is_leased = use.may_lease};
}

store::KeyUse UseOf(const RuleStatus& taken) {
  store::KeyUse use;
  use.key = {.scope = taken.scope, .tag = taken.tag, .rest = taken.rest};
  use.limit = &taken.limit;
  use.slot = taken.receipt.slot;
  use.receipt = taken.receipt;
  if (limiter::IsOverflowKey(use.key)) use.kind = store::KeyKind::kOverflow;
  return use;
}

void Limiter::Impl::Decide(RulesOfThread& rules, Operation operation,
                           std::span<const Attribute> attributes, std::int64_t cost) {
  CheckRequest& check = rules.check;
  check.Clear();
  check.operation = operation;
  check.cost = cost;
  for (const Attribute& attribute : attributes) check.Add(attribute.name, attribute.value);
  store::Store& store = redis ? static_cast<store::Store&>(*redis) : *memory;
  limiter::Limiter limiter(store, redis ? memory.get() : nullptr, rules.reader, settings);
  if (redis) limiter.StartLocalFrom(&redis->leases());
  limiter.Decide(check, Now());
}

Result<RuleDecision> Limiter::Check(const Rules& rules, std::span<const Attribute> attributes,
                                    std::int64_t cost, std::vector<RuleStatus>* statuses) {
  RulesOfThread& of_thread = RulesOfThread::For(rules.impl_->live, rules.impl_);
  impl_->Decide(of_thread, Operation::kCheck, attributes, cost);
  const CheckRequest& check = of_thread.check;
  if (statuses != nullptr) statuses->clear();
  if (check.ruling == Ruling::kInvalid) return ToError(check.error);
  RuleDecision decision{.ruling = check.ruling,
                        .allowed = check.allowed,
                        .degraded = check.degraded,
                        .tightest = check.decision.tightest};
  const std::size_t tightest = check.decision.index;
  if (tightest < check.uses().size() && check.uses()[tightest].mode != Mode::kShadow) {
    const match::MatchedLimit& matched = check.matched(tightest);
    decision.rule = matched.rule->id;
    decision.limit = matched.limit->name;
  }
  if (statuses != nullptr) {
    for (std::size_t i = 0; i < check.uses().size(); ++i) {
      statuses->push_back(StatusOf(check, i));
    }
  }
  return decision;
}

std::size_t Limiter::Reset(const Rules& rules, std::span<const Attribute> attributes) {
  RulesOfThread& of_thread = RulesOfThread::For(rules.impl_->live, rules.impl_);
  impl_->Decide(of_thread, Operation::kReset, attributes, 0);
  return of_thread.check.affected;
}

Result<Verdict> Limiter::Settle(const RuleStatus& taken, std::int64_t actual_cost) {
  store::KeyUse use = UseOf(taken);
  use.cost = actual_cost;
  return impl_->RunOne(Operation::kAdjust, use);
}

Result<Verdict> Limiter::Refund(const RuleStatus& taken) { return Settle(taken, 0); }

bool Limiter::Release(const RuleStatus& taken) {
  store::KeyUse use = UseOf(taken);
  return impl_->Affects(Operation::kRelease, use);
}

bool Limiter::Renew(const RuleStatus& taken) {
  store::KeyUse use = UseOf(taken);
  return impl_->Affects(Operation::kRenew, use);
}

}  // namespace sluice
