#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/key.h"
#include "base/key_hash.h"
#include "base/metrics.h"
#include "base/spin_lock.h"

namespace sluice::store {

/// The keys of limits in requests, wherever they are.
struct RequestKeys {
  std::size_t count = 0;
  std::size_t max = 0;  ///< 0: no maximum.

  static constexpr auto Metrics() {
    using enum MetricType;
    return std::tuple{
        Metric{kGauge, "rate_limiter_request_keys",
               "Keys of limits in requests: in memory, or created in Redis by this server.",
               &RequestKeys::count},
        Metric{kGauge, "rate_limiter_max_request_keys",
               "Maximum number of keys of limits in requests; 0: no maximum.", &RequestKeys::max}};
  }
};

/// Counts the keys that this process made in a store that it can't count them in, and that have
/// not expired, so that their number can be bounded. Thread-safe.
///
/// A sketch: of each key it keeps a fingerprint and the moment of its expiry, in 8 bytes, and it
/// counts keys by that moment in slices of time that rotate. After it has expired, a key may be
/// counted for 1/64 of its life and two seconds more. A key that was never seen is taken for a
/// known one with a probability below one in a million; such a key is not counted. No caller can
/// choose keys for which it is more, because the hash is secret.
///
/// At most 32 bytes for each key of the bound are reserved; those that are used are resident.
class KeyCensus {
 public:
  /// `bound` ≥ 1.
  static Result<std::unique_ptr<KeyCensus>> Create(std::size_t bound);
  ~KeyCensus();
  KeyCensus(const KeyCensus&) = delete;
  KeyCensus& operator=(const KeyCensus&) = delete;

  /// Whether a key is known, or may be made; if so, it is counted for `life`.
  [[nodiscard]] bool Admit(const Key& key, WallTime now, Micros life);
  /// Counts a key from now on for `life`, and no longer; 0: it is gone.
  void SetLife(const Key& key, WallTime now, Micros life);

  [[nodiscard]] std::size_t bound() const { return bound_; }
  /// Keys that are counted now.
  [[nodiscard]] std::size_t Count(WallTime now);
  /// How often Admit said no.
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  /// Regions are independent of each other, so that threads seldom contend.
  static constexpr std::size_t kRegions = 16;
  static constexpr std::size_t kCellsPerBucket = 8;
  static constexpr std::size_t kMostProbes = 4;
  /// Class c has slices of 2^c seconds, and keys that live for at most 128 of them.
  static constexpr std::size_t kClasses = 32;
  static constexpr std::size_t kSlices = 256;

  /// Fingerprint, class of the life, and the slice in which it ends. 0: never used.
  using Cell = std::uint64_t;

  struct Expiry {
    std::uint32_t life_class;
    std::uint32_t slice;  ///< Since the epoch.
  };

  struct alignas(64) Region {
    SpinLock lock;
    std::int64_t now = 0;  ///< Seconds; what is over by then is not counted any more.
    std::array<std::array<std::uint32_t, kSlices>, kClasses> counts{};
  };

  /// Where a key is, or may be put.
  struct CellPair {
    Cell* known = nullptr;
    Cell* free = nullptr;
  };

  KeyCensus(std::size_t bound, Cell* cells, std::size_t buckets);

  bool AdmitInRegion(const KeyHash& hash, WallTime now, Micros life);
  void Rotate(Region& region, WallTime now);
  [[nodiscard]] CellPair Find(const Region& region, const KeyHash& hash) const;
  void Put(Region& region, Cell& cell, const KeyHash& hash, Micros life);
  void Remove(Region& region, Cell& cell);
  [[nodiscard]] Region& RegionOf(const KeyHash& hash) { return regions_[hash.low % kRegions]; }

  const std::size_t bound_;
  const KeyHasher hasher_;
  Cell* const cells_;
  const std::size_t buckets_;  ///< Of each region.
  const std::unique_ptr<std::array<Region, kRegions>> owned_regions_;
  std::array<Region, kRegions>& regions_;
  // Relaxed: a number by itself. It may pass the bound by as many keys as threads ask at once.
  std::atomic<std::size_t> live_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace sluice::store
