#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <sluice/time.h>

#include "simulate/trace_row.h"

namespace sluice::simulate {

/// A sampled call and a number that stands for its caller, unique within the sample.
struct SampledCall {
  TraceRow row;
  std::uint64_t caller = 0;
};

/// A copy of a node's sampled calls, in the order of their times (TrafficSampler::Take). It has
/// either all calls that a caller made within its span, or none of them. Immutable.
class TrafficSample {
 public:
  [[nodiscard]] std::size_t calls() const { return calls_.size(); }
  /// One caller in so many is sampled; a power of two.
  [[nodiscard]] std::uint64_t share_divisor() const { return std::uint64_t{1} << level_; }
  [[nodiscard]] double share() const { return 1.0 / static_cast<double>(share_divisor()); }
  /// The sample is complete from `begin` to `end`.
  [[nodiscard]] WallTime begin() const { return begin_; }
  [[nodiscard]] WallTime end() const { return end_; }
  [[nodiscard]] Micros span() const { return end_ - begin_; }

  /// Reads a call. Its attributes point into the sample; nothing is allocated if `call` is reused.
  void Read(std::size_t index, SampledCall& call) const;

 private:
  friend class TrafficSampler;

  struct CallPosition {
    WallTime time;
    std::uint32_t ring;
    std::uint32_t word;
  };

  std::vector<std::vector<std::uint64_t>> rings_;  ///< Encoded: see sampled_call_codec.h.
  std::vector<CallPosition> calls_;
  std::uint32_t level_ = 0;
  WallTime begin_{};
  WallTime end_{};
};

}  // namespace sluice::simulate
