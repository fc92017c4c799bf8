#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <sluice/time.h>

#include "base/key_hash.h"
#include "match/attributes.h"
#include "simulate/traffic_ring.h"
#include "simulate/traffic_sample.h"

namespace sluice::simulate {

struct TrafficSamplerOptions {
  std::size_t max_calls = 100'000;                ///< Of all loops together.
  Micros max_span = std::chrono::minutes(15);     ///< Older calls are dropped.
  std::size_t max_bytes = std::size_t{32} << 20;  ///< Of all loops together.
};

/// Samples the calls that one event loop answers. Record runs on that loop's thread only; it takes
/// no lock and allocates nothing.
class LoopTrafficSampler {
 public:
  LoopTrafficSampler(const KeyHasher& hasher, std::size_t max_calls, std::size_t words,
                     Micros max_span);

  /// Records a call if its caller is in the share. A caller is an `api_key`, without one an `ip`,
  /// without both the whole list of attributes. Calls without attributes and those that cost
  /// nothing are not sampled. A `now` that goes back by more than a second begins a new sample.
  void Record(match::Attributes attributes, std::int64_t cost, WallTime now);

  [[nodiscard]] TrafficRing::Copy CopyItems() const { return ring_.CopyItems(); }
  /// Memory that it may take up.
  [[nodiscard]] std::size_t max_bytes() const { return ring_.capacity() * sizeof(std::uint64_t); }

 private:
  [[nodiscard]] std::uint64_t CallerOf(match::Attributes attributes) const;
  [[nodiscard]] bool IsInShare(std::uint64_t caller) const;
  void EndSlice(WallTime now);
  enum class Share : std::uint8_t { kKept, kHalved };
  Share MakeRoom(std::size_t words, WallTime now);
  void SetLevel(std::uint32_t level, WallTime now);

  const KeyHasher& hasher_;
  const Micros max_span_;
  TrafficRing ring_;
  std::uint32_t level_ = 0;
  WallTime last_{};
  /// The share is doubled at the end of a slice of the span with little traffic.
  WallTime slice_end_{};
  std::size_t slice_calls_ = 0;
  std::size_t slice_words_ = 0;
};

/// A bounded sample of this node's traffic, for dry runs of rule changes. Raw attributes are kept
/// in memory only.
///
/// Callers are sampled, not calls: a keyed hash decides whether all calls of a caller are recorded
/// or none, so that per-caller limits see true traffic. The share of callers is halved when a ring
/// is full of calls that are younger than `max_span`, and doubled when little traffic is left, so
/// that at most `max_calls` of the last `max_span` are kept.
///
/// Synchronization: each loop writes a ring of its own; rings are arrays of atomic words
/// (traffic_ring.h), which Take copies from any thread without making a writer wait.
class TrafficSampler {
 public:
  /// Memory is reserved now, but only pages that are written to become resident. The first sample
  /// begins at `now`.
  TrafficSampler(const TrafficSamplerOptions& options, std::size_t loops, WallTime now);

  /// Returns the sampler of a loop that has none yet, or null if all are taken. Any thread.
  [[nodiscard]] LoopTrafficSampler* AddLoop();

  /// Returns a copy of the calls until `now`: of the shares in use within the span the one with
  /// the most calls. Takes milliseconds: not for event loops. Any thread.
  [[nodiscard]] TrafficSample Take(WallTime now) const;

 private:
  const TrafficSamplerOptions options_;
  const WallTime started_;
  const KeyHasher hasher_;
  std::vector<std::unique_ptr<LoopTrafficSampler>> loops_;
  std::atomic<std::size_t> added_{0};
};

}  // namespace sluice::simulate
