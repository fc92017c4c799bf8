#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include <sluice/limiter.h>

#include "base/clock.h"
#include "lib/redis_thread.h"
#include "limiter/check_request.h"
#include "limiter/limiter.h"
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

struct Limiter::Impl {
  const Clock* clock;  ///< Null: FastWallTime.
  /// Store of all limits; with Redis, of `local` rules while Redis fails.
  std::unique_ptr<store::MemoryStore> memory;
  std::unique_ptr<RedisThread> redis{};  ///< Null: limits are in memory.
  const limiter::Settings settings{};

  [[nodiscard]] WallTime Now() const { return clock == nullptr ? FastWallTime() : clock->Now(); }
  /// Run a call, or several calls of one limit each, at the current time.
  void Run(store::StoreCall& call) const;
  void RunBatch(std::span<store::StoreCall* const> calls) const;
  /// Returns whether checks of a limit and key may be decided by MemoryStore::CheckBucket.
  [[nodiscard]] bool IsPlain(const NamedLimit& limit, std::string_view key) const {
    return !redis && limit.limit.algorithm() == Algorithm::kTokenBucket &&
           key.size() <= kMaxKeyBytes && limit.name.size() <= kMaxKeyBytes;
  }
  /// Makes independent checks if all uses are plain and at most MemoryStore::kBucketChecks; returns
  /// the number of allowed ones. Precondition: the uses are valid.
  std::optional<std::size_t> CheckBuckets(std::span<const LimitUse> uses,
                                          std::span<Decision> decisions,
                                          std::span<LimitStatus> statuses) const;
  /// Checks any limit.
  Result<Decision> CheckOne(const NamedLimit& limit, std::string_view key, std::int64_t cost,
                            LimitStatus* status) const;
  CheckResult CheckUnprepared(const PreparedLimit& limit, std::string_view key,
                              std::int64_t cost) const;
  static CheckResult ResultOf(const store::BucketCheck& check) noexcept;
  /// Run an operation on one key; return its verdict, or whether it had an effect.
  Result<Verdict> RunOne(store::Operation operation, store::KeyUse& use) const;
  bool Affects(store::Operation operation, store::KeyUse& use) const;
  /// Makes a decision by rules; the result is in `rules.check`.
  void Decide(RulesOfThread& rules, store::Operation operation,
              std::span<const Attribute> attributes, std::int64_t cost);
};

}  // namespace sluice
