#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"

namespace sluice::store {

/// The calls of one loop that its store has not answered, and how many of these it can answer in
/// time. Connections ask it before they read further, so that a flood waits in the socket of its
/// sender and not here, where it would outlive its deadline.
///
/// The limit is the number of calls that wait for half of `longest_wait`, besides the time that a
/// call takes without a queue. It follows from the rate of the last sampled call: calls answered
/// between its beginning and its end, by the time between them. A sample without a queue says
/// nothing of what the store can do, so it never lowers the limit; one that was fast by chance
/// raises it by a quarter at most.
///
/// The limit is divided evenly among the connections that have calls under way. A connection with
/// few of them may therefore ask although others fill their shares; only when the longest wait is
/// to be expected, none may. Lives on its loop's thread.
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

  /// A connection has calls under way from now on, and none from now on.
  void AddConnection() { ++connections_; }
  void RemoveConnection() { --connections_; }

  /// Whether a connection that has `own` calls under way may ask for more.
  [[nodiscard]] bool MayAsk(std::size_t own) const {
    const std::size_t sharing = connections_ + (own == 0 ? 1 : 0);
    return own < std::max<std::size_t>(limit_ / std::max<std::size_t>(sharing, 1), 1) && !full();
  }
  /// Whether not even a connection without calls under way may ask: the longest wait is to be
  /// expected, since so many connections have a call each.
  [[nodiscard]] bool full() const { return under_way_ >= 2 * limit_; }

  [[nodiscard]] std::size_t under_way() const { return under_way_; }
  [[nodiscard]] std::size_t limit() const { return limit_; }

 private:
  /// Of the sample. It is evaluated a turn after it ended: others that end with it count, too.
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
  std::uint64_t answered_ = 0;  ///< By the store, not by its failure.

  Phase phase_ = Phase::kNone;
  const void* sample_ = nullptr;  ///< Identifies the call; it is not looked into.
  SteadyTime sample_began_at_{};
  SteadyTime sample_ended_at_{};
  std::uint64_t answered_before_ = 0;  ///< When the sample began.
  Micros alone_{0};                    ///< Estimated duration of a call without a queue.
  bool sample_ok_ = false;
};

}  // namespace sluice::store
