#pragma once

#include <cstdint>

#include "base/clock.h"

namespace sluice::transport {

/// The part of its loop's turn that one connection may use, so that the others have theirs: a
/// number of requests, and a time. Past it a session keeps what has arrived for the next turn.
///
/// The clock is read once for every few requests, and not at all for a connection that sends one at
/// a time.
class TurnShare {
 public:
  using ReadClock = SteadyTime (*)();

  /// Without a bound.
  TurnShare() = default;
  /// `requests`: how many at most; 0: no bound, of the time neither.
  explicit TurnShare(std::uint32_t requests, ReadClock read_clock = Read)
      : most_(requests), read_clock_(read_clock) {}

  /// A turn begins, in which `time` may be used.
  void Renew(Micros time) {
    taken_ = 0;
    spent_ = Micros{0};
    time_ = time;
  }
  /// The connection begins to work: what others did before is not its time.
  void Begin() {
    since_check_ = 0;
    has_mark_ = false;
  }

  /// Something may be done in every turn.
  [[nodiscard]] bool used() const {
    return most_ != 0 && taken_ > 0 && (taken_ >= most_ || spent_ >= time_);
  }
  /// Takes one request's part. False: nothing is left, and nothing was taken.
  bool Take() {
    if (used()) return false;
    Count();
    return true;
  }
  /// Counts a request that is run in any case.
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
