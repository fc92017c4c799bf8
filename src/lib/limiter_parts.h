#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <sluice/limiter.h>

#include "lib/redis_thread.h"
#include "limiter/check_request.h"
#include "limiter/limiter.h"
#include "limiter/settlement.h"
#include "store/memory/memory_store.h"
#include "store/store.h"

namespace sluice {

struct RulesOfThread;

/// Returns an error with the explanation of its code.
Error ToError(ErrorCode code);

/// Convert one limit of a decided check to a RuleStatus, and back to a use that adjusts it. The
/// status must outlive the use.
RuleStatus StatusOf(const limiter::CheckRequest& check, std::size_t use);
store::KeyUse UseOf(const RuleStatus& taken);
/// Returns the decision of a check by rules that is valid.
RuleDecision RuleDecisionOf(const limiter::CheckRequest& check);

struct Limiter::Impl {
  const Clock& clock;
  /// Store of all limits; with Redis, of `local` rules while Redis fails.
  std::unique_ptr<store::MemoryStore> memory;
  std::unique_ptr<RedisThread> redis{};  ///< Null: limits are in memory.
  const limiter::Settings settings{};

  /// Run a call, or several calls of one limit each, at the current time.
  void Run(store::StoreCall& call) const;
  void RunBatch(std::span<store::StoreCall* const> calls) const;
  /// Run an operation on one key; return its verdict, or whether it had an effect.
  Result<Verdict> RunOne(store::Operation operation, store::KeyUse& use) const;
  bool Affects(store::Operation operation, store::KeyUse& use) const;
  /// Makes a decision by rules; the result is in `rules.check`.
  void Decide(RulesOfThread& rules, store::Operation operation,
              std::span<const Attribute> attributes, std::int64_t cost);
  /// The same for a check that has all but its attributes.
  void Decide(RulesOfThread& rules, std::span<const Attribute> attributes);
  /// Runs a settlement. Returns the slots that were released or renewed.
  Result<std::size_t> RunSettlement(limiter::ReceiptSettlement& settlement) const;
};

}  // namespace sluice
