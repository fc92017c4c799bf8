#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sluice/time.h>

#include "base/clock.h"

namespace sluice::redis {

/// When a node counts as failing, and how it is tried again.
struct BreakerOptions {
  bool enabled = true;  ///< False: it never opens.
  /// So many failures within `window` open it, if they are at least `least_percent` of the calls
  /// that ended in that time: a few lost among very many are no reason to give up on a node.
  std::uint32_t failures = 5;
  Micros window = std::chrono::seconds(10);
  std::uint32_t least_percent = 10;
  /// Nothing but failures for so long opens it, too, however few they are.
  Micros all_failing = std::chrono::milliseconds(200);
  /// A call that took longer counts as failed. 0: none does.
  Micros slow{0};
  /// How long it stays open before calls are let through again, to try.
  Micros pause = std::chrono::milliseconds(500);
  std::uint32_t probes = 3;     ///< So many of them at a time.
  std::uint32_t successes = 2;  ///< So many in a row close it.
};

/// A circuit breaker of one node: while it is open, no call waits for a node that does not answer.
/// Pure: events and times come from the caller. For one thread.
class Breaker {
 public:
  enum class State : std::uint8_t { kClosed, kOpen, kHalfOpen };

  explicit Breaker(const BreakerOptions& options) : options_(options) {}

  /// Whether a call may be sent. If so, its end must be reported: by one of the next
  /// three.
  [[nodiscard]] bool Admit(SteadyTime now);
  void Succeeded(SteadyTime now, Micros took);
  void Failed(SteadyTime now);
  /// Nothing was learned: it was never sent.
  void Abandoned();

  /// The node is back, as another event shows (a new connection, a reply to an older call):
  /// calls are let through at once, to try.
  void TryNow();

  [[nodiscard]] State state() const { return state_; }
  /// How often it has opened.
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
  SteadyTime failing_since_;  ///< With no success in between.
  std::array<Stretch, kStretches> stretches_{};

  // Open and half-open.
  SteadyTime try_at_;
  std::uint32_t in_flight_ = 0;
  std::uint32_t succeeded_ = 0;
};

/// "closed", "open", "half_open".
[[nodiscard]] std::string_view NameOf(Breaker::State state);

}  // namespace sluice::redis
