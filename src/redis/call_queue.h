#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "redis/call.h"

namespace sluice::redis {

/// The calls of one connection, in order: first those that were sent and wait for a reply, then
/// unsent ones. No sockets, no clock.
///
/// A sent call that timed out stays in the queue without its handler, so that its late reply is not
/// matched to the next call. Does not allocate in the steady state.
class CallQueue {
 public:
  /// A call that ended without a reply.
  struct Ended {
    Handler handler;
    Execution ran;
    SteadyTime pushed{};
    SteadyTime deadline{};
    bool callers_deadline = false;
  };

  CallQueue();

  void Push(std::string_view command, const CallDeadline& deadline, Handler handler,
            SteadyTime now = {});

  /// Appends the commands of all unsent calls to `out`; they count as sent from now on.
  void TakeCommands(std::string& out);

  /// Returns when the oldest sent call was pushed. Precondition: in_flight() > 0.
  [[nodiscard]] SteadyTime OldestPushed() { return At(first_).pushed; }
  /// Removes the oldest sent call, which the next reply belongs to. The handler is empty if the
  /// call had timed out. Precondition: in_flight() > 0.
  [[nodiscard]] Handler PopReplied();

  /// Removes the calls whose deadline is not after `now`.
  void PopExpired(SteadyTime now, std::vector<Ended>& out);
  /// Removes the sent calls. Unsent ones stay.
  void PopInFlight(std::vector<Ended>& out);
  /// Removes the unsent calls.
  void PopUnsent(std::vector<Ended>& out);

  /// Returns the earliest deadline; SteadyTime::max() if there is none.
  [[nodiscard]] SteadyTime NextDeadline();

  /// True if the oldest sent call has timed out.
  [[nodiscard]] bool OldestTimedOut() { return in_flight() > 0 && !At(first_).handler; }

  /// Returns whether any sent call has not timed out. Linear.
  [[nodiscard]] bool AnyAwaited();

  [[nodiscard]] std::size_t size() const { return end_ - first_ - gaps_; }
  [[nodiscard]] std::size_t in_flight() const { return unsent_ - first_; }
  [[nodiscard]] std::size_t unsent() const { return end_ - unsent_ - gaps_; }
  [[nodiscard]] std::size_t unsent_bytes() const { return commands_.size() - gap_bytes_; }

 private:
  struct Entry {
    Handler handler{};  ///< Empty: timed out.
    SteadyTime deadline{};
    SteadyTime pushed{};
    std::size_t bytes = 0;
    bool callers_deadline = false;
  };
  /// A deadline, and the number of the call it belongs to.
  struct Deadline {
    SteadyTime when;
    std::uint64_t number;
    bool operator<(const Deadline& other) const { return when > other.when; }  // Earliest on top.
  };

  [[nodiscard]] Entry& At(std::uint64_t number) { return calls_[number & (calls_.size() - 1)]; }
  [[nodiscard]] bool IsWaiting(const Deadline& deadline);
  void Grow();
  void CloseGaps();
  void CollectDeadlines();

  // A ring: call number n lies at n modulo its size, a power of two.
  std::vector<Entry> calls_;
  std::uint64_t first_ = 0;
  std::uint64_t unsent_ = 0;
  std::uint64_t end_ = 0;

  std::string commands_;       ///< Commands of the unsent calls, concatenated.
  std::size_t gaps_ = 0;       ///< Unsent calls that timed out.
  std::size_t gap_bytes_ = 0;  ///< Their bytes in `commands_`.

  /// A heap. Deadlines of finished calls remain until they reach the top or are too many.
  std::vector<Deadline> deadlines_;
};

}  // namespace sluice::redis
