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
  /// Maximum memory for keys: cells, histories, grants, names. 0: only max_keys applies.
  std::size_t max_bytes = 0;
  bool keep_names = false;  ///< Keep the names of keys for Walk.
  /// The share of max_keys and max_bytes for keys of kind kFromCaller, in percent. Without
  /// max_bytes, such keys may use kBytesPerCallerKey each on average.
  std::size_t caller_percent = 100;
};

inline constexpr std::size_t kBytesPerCallerKey = 256;

struct MemoryStoreStats {
  std::size_t keys = 0;
  std::size_t bytes = 0;
  std::uint64_t expired = 0;
  std::uint64_t refused = 0;         ///< Calls whose keys had no room.
  std::size_t caller_keys = 0;       ///< Keys of kind kFromCaller, included in `keys`.
  std::size_t caller_bytes = 0;      ///< Bytes of those, included in `bytes`.
  std::uint64_t caller_refused = 0;  ///< Calls of those, included in `refused`.
  std::size_t max_keys = 0;
  std::size_t max_bytes = 0;  ///< 0: no maximum.
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

/// An enforced check of one token bucket, with just what the decision needs. Other figures can be
/// computed from the result.
struct BucketCheck {
  const Limit* limit = nullptr;  ///< Results are defined for token buckets only.
  std::int64_t cost = 1;
  WallTime now{};

  /// Results. False: nothing was done, because the key is absent or not a plain bucket under the
  /// limit's numbers, or the cost is not between 1 and the cap; submit a StoreCall instead.
  bool done = false;
  bool allowed = false;
  WallTime at{};  ///< The bucket's time and value after the check (algo::State).
  std::int64_t value = 0;

  [[nodiscard]] Verdict verdict() const;
  [[nodiscard]] Receipt receipt() const;
};

/// Keeps the state of keys in memory. Thread-safe; every call is done on return. Terminates the
/// process if memory is exhausted in the middle of a call, because a half-done call can't be
/// reported.
///
/// A key is represented by a keyed 122-bit fingerprint: two keys collide with a probability below
/// 2^-100, even if clients choose them. A bucket or window takes 33 bytes in a table that is 85 to
/// 90 % full. The README of this room explains how the table grows and is cleaned.
class MemoryStore final : public Store {
 public:
  static Result<std::unique_ptr<MemoryStore>> Create(const MemoryStoreOptions& options);
  ~MemoryStore() override;

  Completion Submit(StoreCall& call) noexcept override;
  void SubmitBatch(std::span<StoreCall* const> calls) noexcept override;

  /// Returns the hash of a scope, which speeds up checks of its keys and may be kept.
  [[nodiscard]] KeyHasher::Prefix HashScope(std::string_view scope) const;

  /// Run checks of buckets: one, or up to kBucketChecks, whose cache misses overlap. `prefix`, if
  /// given, is HashScope of the scope of all keys.
  static constexpr std::size_t kBucketChecks = 16;
  void CheckBucket(const KeyHasher::Prefix* prefix, const Key& key, BucketCheck& check) noexcept;
  void CheckBuckets(const KeyHasher::Prefix* prefix, std::span<const Key> keys,
                    std::span<BucketCheck> checks) noexcept;

  /// Returns whether a key is active: not fresh.
  [[nodiscard]] bool IsLive(const Key& key, WallTime now) const;

  /// Visits every active key until `visit` returns false. Keys added or dropped meanwhile may or
  /// may not be visited. No lock is held while `visit` runs.
  void Walk(WallTime now, const std::function<bool(const KeyState&)>& visit) const;

  [[nodiscard]] MemoryStoreStats StatsApprox() const;

 private:
  class Table;
  explicit MemoryStore(std::unique_ptr<Table> table);
  std::unique_ptr<Table> table_;
};

}  // namespace sluice::store
