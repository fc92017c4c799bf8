#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <sluice/result.h>

#include "base/key_hash.h"
#include "base/metrics.h"
#include "store/store.h"

namespace sluice::store {

struct MemoryStoreOptions {
  std::size_t max_keys = 10'000'000;
  /// Ceiling for all that keys occupy: cells, histories, grants, names. 0: none but max_keys.
  std::size_t max_bytes = 0;
  bool keep_names = false;  ///< For Walk.
  /// The share of max_keys and max_bytes that keys of kind kFromCaller may occupy, in percent.
  /// Without max_bytes, such keys may occupy kBytesPerCallerKey each, on average.
  std::size_t caller_percent = 100;
};

inline constexpr std::size_t kBytesPerCallerKey = 256;

struct MemoryStoreStats {
  std::size_t keys = 0;
  std::size_t bytes = 0;
  std::uint64_t expired = 0;
  std::uint64_t refused = 0;         ///< Calls for which there was no room.
  std::size_t caller_keys = 0;       ///< Of `keys`: of kind kFromCaller.
  std::size_t caller_bytes = 0;      ///< Of `bytes`: theirs.
  std::uint64_t caller_refused = 0;  ///< Of `refused`: theirs.
  std::size_t max_keys = 0;
  std::size_t max_bytes = 0;  ///< 0: no ceiling.
  std::size_t max_caller_keys = 0;
  std::size_t max_caller_bytes = 0;

  /// Always 0: active keys are never evicted.
  [[nodiscard]] std::uint64_t evicted() const { return 0; }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = MemoryStoreStats;
    return std::tuple{
        Metric{kGauge, "rate_limiter_active_keys", "Keys in memory.", &S::keys},
        Metric{kGauge, "rate_limiter_storage_bytes", "Memory that keys occupy.", &S::bytes},
        Metric{kGauge, "rate_limiter_max_keys", "Maximum number of keys in memory.", &S::max_keys},
        Metric{kGauge, "rate_limiter_max_storage_bytes", "Maximum memory for keys; 0: no maximum.",
               &S::max_bytes},
        Metric{kCounter, "rate_limiter_evictions_total", "Active keys that were evicted.",
               &S::evicted},
        Metric{kCounter, "rate_limiter_expired_keys_total",
               "Keys dropped because they were fresh again.", &S::expired},
        Metric{kCounter, "rate_limiter_refused_keys_total",
               "Calls whose keys had no room in memory.", &S::refused}};
  }
};

/// State in this process's memory. Thread-safe; answers every call at once. If the system has no
/// memory left in the middle of a call, the process ends: a call that is half done can't be
/// reported.
///
/// Keys are known by a keyed 122-bit fingerprint, so that different keys share a state with a
/// probability below 2^-100, even if clients choose them. A bucket or window costs 33 bytes in a
/// table that is 85 to 90 % full; see the README beside this file for how it grows and cleans
/// itself.
class MemoryStore final : public Store {
 public:
  static Result<std::unique_ptr<MemoryStore>> Create(const MemoryStoreOptions& options);
  ~MemoryStore() override;

  Completion Submit(StoreCall& call) noexcept override;
  void SubmitBatch(std::span<StoreCall* const> calls) noexcept override;

  /// Visits every live key until `visit` returns false; keys that come or go meanwhile may or may
  /// not be seen. No lock is held while `visit` runs.
  void Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const;

  [[nodiscard]] MemoryStoreStats StatsApprox() const;

 private:
  class Table;
  explicit MemoryStore(std::unique_ptr<Table> table);
  std::unique_ptr<Table> table_;
};

}  // namespace sluice::store
