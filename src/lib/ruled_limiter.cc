// What a Limiter decides by rules.

#include <utility>

#include <sluice/limiter.h>

#include "base/clock.h"
#include "lib/backend.h"
#include "lib/limiter_parts.h"
#include "lib/rules_in_force.h"
#include "limiter/limiter.h"

namespace sluice {
namespace {

using limiter::Question;
using store::Operation;

// A backend as the store that it hides.
class BackendStore final : public store::Store {
 public:
  explicit BackendStore(Backend& backend) : backend_(backend) {}

  store::Answered Submit(store::Call& call) override {
    backend_.Run(call);
    return store::Answered::kNow;
  }
  void SubmitBatch(std::span<store::Call* const> calls) override { backend_.RunBatch(calls); }

 private:
  Backend& backend_;
};

const limiter::Settings& AlwaysEnforced() {
  static const limiter::Settings settings;
  return settings;
}

}  // namespace

RuleStatus StatusOf(const Question& question, std::size_t i) {
  const store::Use& use = question.uses()[i];
  const rules::MetLimit& met = question.met(i);
  return {.rule = met.rule->id,
          .name = met.limit->name,
          .is_shadow = use.mode == Mode::kShadow,
          .limit = *use.limit,
          .verdict = use.verdict,
          .receipt = use.receipt,
          .scope = std::string(use.key.scope),
          .tag = std::string(use.key.tag),
          .rest = std::string(use.key.rest),
          .is_leased = use.may_lease};
}

store::Use UseOf(const RuleStatus& taken) {
  store::Use use;
  use.key = {.scope = taken.scope, .tag = taken.tag, .rest = taken.rest};
  use.limit = &taken.limit;
  use.slot = taken.receipt.slot;
  use.receipt = taken.receipt;
  use.may_lease = taken.is_leased;
  return use;
}

void Limiter::Impl::Ask(RulesOfThread& rules, Operation operation,
                        std::span<const Attribute> attributes, std::int64_t cost) {
  Question& question = rules.question;
  question.Clear();
  question.operation = operation;
  question.cost = cost;
  for (const Attribute& attribute : attributes) question.Add(attribute.name, attribute.value);
  BackendStore store(*backend);
  limiter::Limiter limiter(store, fallback.get(), rules.reader, AlwaysEnforced());
  limiter.StartLocalFrom(backend->Leases());
  // A store in memory looks at its own clock.
  limiter.Ask(question, fallback ? TheSystemClock().Now() : WallTime{});
}

Result<RuleDecision> Limiter::Check(const Rules& rules, std::span<const Attribute> attributes,
                                    std::int64_t cost, std::vector<RuleStatus>* statuses) {
  RulesOfThread& of_thread = RulesOfThread::For(rules.impl_->live, rules.impl_);
  impl_->Ask(of_thread, Operation::kCheck, attributes, cost);
  const Question& question = of_thread.question;
  if (statuses != nullptr) statuses->clear();
  if (question.ruling == Ruling::kInvalid) return ToError(question.error);
  RuleDecision decision{.ruling = question.ruling,
                        .allowed = question.allowed,
                        .degraded = question.degraded,
                        .headline = question.headline.headline};
  const std::size_t told = question.headline.index;
  if (told < question.uses().size() && question.uses()[told].mode != Mode::kShadow) {
    const rules::MetLimit& met = question.met(told);
    decision.rule = met.rule->id;
    decision.limit = met.limit->name;
  }
  if (statuses != nullptr) {
    for (std::size_t i = 0; i < question.uses().size(); ++i) {
      statuses->push_back(StatusOf(question, i));
    }
  }
  return decision;
}

std::size_t Limiter::Reset(const Rules& rules, std::span<const Attribute> attributes) {
  RulesOfThread& of_thread = RulesOfThread::For(rules.impl_->live, rules.impl_);
  impl_->Ask(of_thread, Operation::kReset, attributes, 0);
  return of_thread.question.affected;
}

Result<Verdict> Limiter::Settle(const RuleStatus& taken, std::int64_t actual_cost) {
  store::Use use = UseOf(taken);
  use.cost = actual_cost;
  return impl_->RunOne(Operation::kAdjust, use);
}

Result<Verdict> Limiter::Refund(const RuleStatus& taken) { return Settle(taken, 0); }

bool Limiter::Release(const RuleStatus& taken) {
  store::Use use = UseOf(taken);
  return impl_->Affects(Operation::kRelease, use);
}

bool Limiter::Renew(const RuleStatus& taken) {
  store::Use use = UseOf(taken);
  return impl_->Affects(Operation::kRenew, use);
}

}  // namespace sluice
