#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sluice/time.h>

#include "base/clock.h"

namespace sluice::redis {

/// When a breaker opens, and how it probes.
struct BreakerOptions {
  bool enabled = true;  ///< False: it never opens.
  /// Opens after this many failures within `window`, if they are at least `least_percent` of the
  /// completed calls.
  std::uint32_t failures = 5;
  Micros window = std::chrono::seconds(10);
  std::uint32_t least_percent = 10;
  /// Also opens if all calls have failed for this long, however few they are.
  Micros all_failing = std::chrono::milliseconds(200);
  /// Duration above which a call counts as failed. 0: disabled.
  Micros slow{0};
  /// Time from opening to the first probes.
  Micros pause = std::chrono::milliseconds(500);
  std::uint32_t probes = 3;     ///< Maximum number of concurrent probes.
  std::uint32_t successes = 2;  ///< Consecutive successful probes that close it.
};

/// The circuit breaker of one node: while it is open, calls fail immediately. Pure: events and
/// times come from the caller. Not thread-safe.
class Breaker {
 public:
  enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };

  explicit Breaker(const BreakerOptions& options) : options_(options) {}

  /// Returns whether a call may be sent. If so, one of the next three must report its end.
  [[nodiscard]] bool Admit(SteadyTime now);
  void Succeeded(SteadyTime now, Micros took);
  void Failed(SteadyTime now);
  /// Reports a call that was never sent.
  void Abandoned();

  /// Starts probing immediately, because another event (a new connection, a late reply) shows that
  /// the node is back.
  void TryNow();

  [[nodiscard]] State state() const { return state_; }
  /// Number of times that it has opened.
  [[nodiscard]] std::uint64_t opened() const { return opened_; }

 private:
  static constexpr int kStretches = 10;
  /// Calls that ended in a tenth of the window.
  struct Stretch {
    std::int64_t number = -1;
    std::uint64_t ended = 0;
    std::uint64_t failed = 0;
  };

  [[nodiscard]] std::int64_t NumberAt(SteadyTime now) const;
  Stretch& StretchAt(SteadyTime now);
  [[nodiscard]] bool HasFailedTooOften(SteadyTime now) const;
  void Open(SteadyTime now);
  void Close();

  const BreakerOptions options_;
  State state_ = State::kClosed;
  std::uint64_t opened_ = 0;

  // Closed.
  bool is_failing_ = false;   ///< The last call failed.
  SteadyTime failing_since_;  ///< Start of the current series of failures.
  std::array<Stretch, kStretches> stretches_{};

  // Open and half-open.
  SteadyTime try_at_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t succeeded_ = 0;
};

/// "closed", "open", "half_open".
[[nodiscard]] std::string_view NameOf(Breaker::State state);

}  // namespace sluice::redis
