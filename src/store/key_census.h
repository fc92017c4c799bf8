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

/// The number of keys of limits in requests, in memory or in Redis.
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

/// Estimates the number of live keys that this process created in a store without a count of its
/// own (Redis), so that it can be bounded. Thread-safe.
///
/// A sketch: each key is a fingerprint and its expiry, in 8 bytes. Keys are counted by expiry in
/// slices of time that rotate. An expired key may be counted for another 1/64 of its life plus two
/// seconds. A new key collides with a known one, and is then not counted, with a probability below
/// one in a million. The hash is secret, so callers can't choose colliding keys.
///
/// Reserves at most 32 bytes of address space per key of the bound; only the pages in use are
/// resident.
class KeyCensus {
 public:
  /// `bound` ≥ 1.
  static Result<std::unique_ptr<KeyCensus>> Create(std::size_t bound);
  ~KeyCensus();
  KeyCensus(const KeyCensus&) = delete;
  KeyCensus& operator=(const KeyCensus&) = delete;

  /// Returns whether the key is known or may be created; counts it for `life` if so.
  [[nodiscard]] bool Admit(const Key& key, WallTime now, Micros life);
  /// Sets the remaining life of a key; 0 removes it.
  void SetLife(const Key& key, WallTime now, Micros life);

  [[nodiscard]] std::size_t bound() const { return bound_; }
  /// Returns the number of keys counted at `now`.
  [[nodiscard]] std::size_t Count(WallTime now);
  /// How often Admit returned false.
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  /// Regions are independent of each other, so that threads seldom contend.
  static constexpr std::size_t kRegions = 16;
  static constexpr std::size_t kCellsPerBucket = 8;
  static constexpr std::size_t kMostProbes = 4;
  /// Class c has slices of 2^c seconds, and keys that live for at most 128 of them.
  static constexpr std::size_t kClasses = 32;
  static constexpr std::size_t kSlices = 256;

  /// Fingerprint, class of the life, and the slice in which it ends. 0: unused.
  using Cell = std::uint64_t;

  struct Expiry {
    std::uint32_t life_class;
    std::uint32_t slice;  ///< Since the epoch.
  };

  struct alignas(64) Region {
    SpinLock lock;
    std::int64_t now = 0;  ///< In seconds; earlier slices are no longer counted.
    std::array<std::array<std::uint32_t, kSlices>, kClasses> counts{};
  };

  /// The cell of a key, or a free cell for it.
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
  // Relaxed: independent counters. `live_` may exceed the bound by one key per concurrent thread.
  std::atomic<std::size_t> live_{0};
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace sluice::store
