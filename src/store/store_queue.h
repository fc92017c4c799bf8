#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace sluice::store {

/// Limits the pending store calls of one loop to the number that the store can answer in time.
/// Connections consult it before they read more input, so that a flood waits in the sender's socket
/// instead of past its deadline in here.
///
/// The limit is the number of calls whose queueing delay is half of `longest_wait`. It is computed
/// from the throughput during the last sampled call: calls answered while it ran, divided by its
/// duration. A sample without a queue does not show the store's capacity, so it never lowers the
/// limit; one fast sample raises it by at most a quarter.
///
/// The limit is divided evenly among the connections with calls under way, so a connection with few
/// calls is admitted even if others have used up their shares, until the queue is full. Lives on
/// its loop's thread.
class StoreQueue {
 public:
  static constexpr std::size_t kFirstLimit = 128;
  static constexpr std::size_t kLeastLimit = 32;
  static constexpr std::size_t kMostLimit = std::size_t{1} << 20;

  explicit StoreQueue(Micros longest_wait) : target_(std::max(longest_wait / 2, Micros{1})) {}

  // ---- For the store. `now` is the time of the loop's turn.

  void Began(const void* call, SteadyTime now) {
    ++under_way_;
    if (phase_ == Phase::kEnded && now != sample_ended_at_) TakeSample();
    if (phase_ == Phase::kNone) BeginSample(call, now);
  }
  void Ended(const void* call, SteadyTime now, bool ok) {
    --under_way_;
    if (ok) ++answered_;
    if (phase_ == Phase::kRunning && call == sample_) EndSample(now, ok);
  }

  // ---- For connections.

  /// Add or remove a connection with calls under way.
  void AddConnection() { ++connections_; }
  void RemoveConnection() { --connections_; }

  /// Returns whether a connection with `own` calls under way may submit more.
  [[nodiscard]] bool MayAsk(std::size_t own) const {
    const std::size_t sharing = connections_ + (own == 0 ? 1 : 0);
    return own < std::max<std::size_t>(limit_ / std::max<std::size_t>(sharing, 1), 1) && !full();
  }
  /// Returns whether no connection may submit a call: the expected delay is `longest_wait`.
  [[nodiscard]] bool full() const { return under_way_ >= 2 * limit_; }

  [[nodiscard]] std::size_t under_way() const { return under_way_; }
  [[nodiscard]] std::size_t limit() const { return limit_; }

 private:
  /// Phase of the sample. It is evaluated one turn after its end, to count calls of the same turn.
  enum class Phase : std::uint8_t { kNone, kRunning, kEnded };

  void BeginSample(const void* call, SteadyTime now) {
    phase_ = Phase::kRunning;
    sample_ = call;
    sample_began_at_ = now;
    answered_before_ = answered_;
  }
  void EndSample(SteadyTime now, bool ok) {
    phase_ = Phase::kEnded;
    sample_ended_at_ = now;
    sample_ok_ = ok;
  }
  void TakeSample();

  const Micros target_;
  std::size_t under_way_ = 0;
  std::size_t connections_ = 0;
  std::size_t limit_ = kFirstLimit;
  std::uint64_t answered_ = 0;  ///< Without failures.

  Phase phase_ = Phase::kNone;
  const void* sample_ = nullptr;  ///< Identifies the call; not dereferenced.
  SteadyTime sample_began_at_{};
  SteadyTime sample_ended_at_{};
  std::uint64_t answered_before_ = 0;  ///< `answered_` at the start of the sample.
  Micros alone_{0};                    ///< Estimated duration of a call without a queue.
  bool sample_ok_ = false;
};

}  // namespace sluice::store
