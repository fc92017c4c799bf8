#pragma once

#include <functional>
#include <memory>
#include <span>

#include <sluice/limiter.h>

#include "store/store.h"

namespace sluice {

namespace lease {
class LeaseTable;
}

/// What a Limiter asks: a store that answers before it returns. Thread-safe.
class Backend {
 public:
  virtual ~Backend() = default;

  /// Answers the call, or several calls of one limit each; sets their time.
  virtual void Run(store::Call& call) = 0;
  virtual void RunBatch(std::span<store::Call* const> calls) = 0;

  /// False if this store can't list its keys.
  virtual bool Walk(const std::function<bool(const store::KeyState&)>& visit) = 0;
  [[nodiscard]] virtual LimiterStats Stats() const = 0;
  /// What it holds and knows of leased keys; null if nothing is leased from it.
  virtual lease::LeaseTable* Leases() { return nullptr; }
};

Result<std::unique_ptr<Backend>> MakeMemoryBackend(const LimiterOptions& options);
Result<std::unique_ptr<Backend>> MakeRedisBackend(const RedisLimiterOptions& options);

}  // namespace sluice
