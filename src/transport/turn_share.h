#pragma once

#include <cstdint>

#include "base/clock.h"

namespace sluice::transport {

/// One connection's share of a turn of its loop: a number of requests and a time. When it is used
/// up, the session buffers requests for the next turn.
///
/// The clock is read once per several requests, and not at all for connections that send one at a
/// time.
class TurnShare {
 public:
  using ReadClock = SteadyTime (*)();

  /// Unlimited.
  TurnShare() = default;
  /// `requests` is the maximum per turn; 0: neither requests nor time are limited.
  explicit TurnShare(std::uint32_t requests, ReadClock read_clock = Read)
      : most_(requests), read_clock_(read_clock) {}

  /// Starts a new turn with this much time.
  void Renew(Micros time) {
    taken_ = 0;
    spent_ = Micros{0};
    time_ = time;
  }
  /// Starts measuring the connection's own time.
  void Begin() {
    since_check_ = 0;
    has_mark_ = false;
  }

  /// True if the share is used up. At least one request may run in every turn.
  [[nodiscard]] bool used() const {
    return most_ != 0 && taken_ > 0 && (taken_ >= most_ || spent_ >= time_);
  }
  /// Counts a request unless the share is used up. Returns whether it may run.
  bool Take() {
    if (used()) return false;
    Count();
    return true;
  }
  /// Counts a request that runs anyway.
  void Count() {
    ++taken_;
    if (++since_check_ >= kRequestsBetweenChecks && most_ != 0) CheckClock();
  }

 private:
  static constexpr std::uint32_t kRequestsBetweenChecks = 8;

  static SteadyTime Read() { return SteadyClock::Now(); }

  void CheckClock() {
    since_check_ = 0;
    const SteadyTime now = read_clock_();
    if (has_mark_) spent_ += now - mark_;
    mark_ = now;
    has_mark_ = true;
  }

  std::uint32_t most_ = 0;
  std::uint32_t taken_ = 0;
  std::uint32_t since_check_ = 0;
  bool has_mark_ = false;
  SteadyTime mark_{};
  Micros time_{0};
  Micros spent_{0};
  ReadClock read_clock_ = Read;
};

}  // namespace sluice::transport
