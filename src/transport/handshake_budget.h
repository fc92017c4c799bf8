#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace sluice::transport {

/// Limits the unfinished TLS handshakes of each address. A handshake costs the server a signature
/// and an abusive client nothing; one that succeeds is refunded.
///
/// A token bucket of one second per address. There is a fixed number of buckets, chosen by a seeded
/// hash: addresses that collide share a budget. Thread-safe and lock-free.
class HandshakeBudget {
 public:
  /// `per_second` is the size of a bucket and its refill per second. 0: no limit.
  explicit HandshakeBudget(std::size_t per_second);

  /// Takes one handshake from the budget of `origin`, a hash of the address. Returns false if none
  /// is left.
  [[nodiscard]] bool Take(std::uint64_t origin, SteadyTime now);
  void GiveBack(std::uint64_t origin);

 private:
  static constexpr std::size_t kBuckets = 4096;
  static constexpr Micros kWindow = std::chrono::seconds(1);

  [[nodiscard]] std::atomic<std::int64_t>& BucketOf(std::uint64_t origin);

  const Micros interval_;  ///< Refill interval; 0: no limit.
  const std::uint64_t seed_;
  /// Time at which each bucket is full, in microseconds; at most kWindow from now.
  std::array<std::atomic<std::int64_t>, kBuckets> full_at_{};
};

}  // namespace sluice::transport
