#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include <sluice/limiter.h>

#include "lib/redis_thread.h"
#include "limiter/check_request.h"
#include "limiter/limiter.h"
#include "store/memory/memory_store.h"
#include "store/store.h"

namespace sluice {

struct RulesOfThread;

/// An error code with its explanation.
Error ToError(ErrorCode code);

/// One limit that a decided check matched, with all that is needed to undo it later; and the use
/// that does so. The status must outlive the use.
RuleStatus StatusOf(const limiter::CheckRequest& check, std::size_t use);
store::KeyUse UseOf(const RuleStatus& taken);

struct Limiter::Impl {
  const Clock& clock;
  /// Holds all limits; with Redis, those of `local` rules while Redis fails.
  std::unique_ptr<store::MemoryStore> memory;
  std::unique_ptr<RedisThread> redis{};  ///< Null: limits live in memory.
  const limiter::Settings settings{};

  /// Answers the call, or several calls of one limit each; sets their time.
  void Run(store::StoreCall& call) const;
  void RunBatch(std::span<store::StoreCall* const> calls) const;
  /// Operations on one key: its verdict, and whether anything was there to be affected.
  Result<Verdict> RunOne(store::Operation operation, store::KeyUse& use) const;
  bool Affects(store::Operation operation, store::KeyUse& use) const;
  /// Decides by rules; the result is in `rules.check`.
  void Decide(RulesOfThread& rules, store::Operation operation,
              std::span<const Attribute> attributes, std::int64_t cost);
};

}  // namespace sluice
