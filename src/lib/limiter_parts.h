#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <sluice/limiter.h>

#include "lib/backend.h"
#include "limiter/question.h"
#include "store/store.h"

namespace sluice {

struct RulesOfThread;

/// What went wrong, with its explanation.
Error ToError(ErrorCode code);

/// One limit that an answered question met, with all that is needed to undo it later; and the use
/// that does so. The status must outlive the use.
RuleStatus StatusOf(const limiter::Question& question, std::size_t use);
store::Use UseOf(const RuleStatus& taken);

struct Limiter::Impl {
  std::unique_ptr<Backend> backend;
  /// For rules that are `local`, while the backend can't tell. Null: there is none.
  std::unique_ptr<store::Store> fallback;

  void Run(store::Operation operation, std::span<store::Use> uses, store::Call& call) const;
  /// Operations on one key: what it says then, and whether anything was there to be affected.
  Result<Verdict> RunOne(store::Operation operation, store::Use& use) const;
  bool Affects(store::Operation operation, store::Use& use) const;
  /// By rules; the answer is in `rules.question`.
  void Ask(RulesOfThread& rules, store::Operation operation, std::span<const Attribute> attributes,
           std::int64_t cost);
};

}  // namespace sluice
