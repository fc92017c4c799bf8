#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace sluice::transport {

/// How many TLS handshakes each address may begin and not end. A handshake costs us a signature and
/// the client nothing, unless it goes on: one that succeeds gives back what it took.
///
/// Each address has a bucket that holds a second's worth. There is a fixed number of buckets,
/// chosen by a hash with a seed of this process: addresses that share one share its budget.
/// Thread-safe, without a lock.
class HandshakeBudget {
 public:
  /// `per_second`: the bucket's size, and what it gains in a second. 0: no bound.
  explicit HandshakeBudget(std::size_t per_second);

  /// `origin`: a number that stands for the address. False: nothing is left for now.
  [[nodiscard]] bool Take(std::uint64_t origin, SteadyTime now);
  void GiveBack(std::uint64_t origin);

 private:
  static constexpr std::size_t kBuckets = 4096;
  static constexpr Micros kWindow = std::chrono::seconds(1);

  [[nodiscard]] std::atomic<std::int64_t>& BucketOf(std::uint64_t origin);

  const Micros interval_;  ///< Between two of one address, in the long run; 0: no bound.
  const std::uint64_t seed_;
  /// When each bucket is full again, in microseconds: at most kWindow from now.
  std::array<std::atomic<std::int64_t>, kBuckets> full_at_{};
};

}  // namespace sluice::transport
