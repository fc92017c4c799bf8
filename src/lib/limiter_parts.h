#pragma once

#include <memory>
#include <span>

#include <sluice/limiter.h>

#include "lib/backend.h"
#include "store/store.h"

namespace sluice {

struct RulesOfThread;

/// What went wrong, with its explanation.
Error ToError(ErrorCode code);

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
