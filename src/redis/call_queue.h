#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "redis/call.h"

namespace sluice::redis {

/// The calls of one connection, in order: first those that were sent and wait for their reply, then
/// those that wait to be sent. Knows no sockets and no clock.
///
/// A sent call that timed out keeps its place without its handler, so that its late reply is not
/// taken for that of the next one. In the steady state nothing is allocated.
class CallQueue {
 public:
  /// A call that is over, and whether it had been sent.
  struct Ended {
    Handler handler;
    Execution execution;
    SteadyTime pushed{};
    bool callers_deadline = false;
  };

  CallQueue();

  void Push(std::string_view command, const CallDeadline& deadline, Handler handler,
            SteadyTime now = {});

  /// Appends the commands of all calls that wait to be sent to `out`; they count as sent from here
  /// on.
  void TakeCommands(std::string& out);

  /// When the call was pushed that the next reply belongs to. Only if in_flight() > 0.
  [[nodiscard]] SteadyTime OldestPushed() { return At(first_).pushed; }
  /// Ends the call that the next reply belongs to. Its handler is empty if the call had timed out.
  /// Only if in_flight() > 0.
  [[nodiscard]] Handler PopReplied();

  /// Ends the calls whose deadline is not after `now`.
  void PopExpired(SteadyTime now, std::vector<Ended>& out);
  /// Ends the calls that were sent. Those that wait to be sent stay.
  void PopInFlight(std::vector<Ended>& out);
  /// Ends the calls that wait to be sent.
  void PopUnsent(std::vector<Ended>& out);

  /// The earliest deadline of all calls that have one; SteadyTime::max() if there is none.
  [[nodiscard]] SteadyTime NextDeadline();

  /// Whether the call that the next reply belongs to was sent and timed out.
  [[nodiscard]] bool OldestTimedOut() { return in_flight() > 0 && !At(first_).handler; }

  /// Whether any call that was sent is awaited. Linear.
  [[nodiscard]] bool AnyAwaited();

  [[nodiscard]] std::size_t size() const { return end_ - first_ - gaps_; }
  [[nodiscard]] std::size_t in_flight() const { return unsent_ - first_; }
  [[nodiscard]] std::size_t unsent() const { return end_ - unsent_ - gaps_; }
  [[nodiscard]] std::size_t unsent_bytes() const { return commands_.size() - gap_bytes_; }

 private:
  struct Call {
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

  [[nodiscard]] Call& At(std::uint64_t number) { return calls_[number & (calls_.size() - 1)]; }
  [[nodiscard]] bool IsWaiting(const Deadline& deadline);
  void Grow();
  void CloseGaps();
  void CollectDeadlines();

  // A ring: call number n lies at n modulo its size, a power of two.
  std::vector<Call> calls_;
  std::uint64_t first_ = 0;
  std::uint64_t unsent_ = 0;
  std::uint64_t end_ = 0;

  std::string commands_;       ///< Of the calls that wait to be sent, one after the other.
  std::size_t gaps_ = 0;       ///< How many of them timed out,
  std::size_t gap_bytes_ = 0;  ///< and what of `commands_` is theirs.

  /// A heap. Those of calls that are over remain until they come up, or are too many.
  std::vector<Deadline> deadlines_;
};

}  // namespace sluice::redis
