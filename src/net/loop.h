#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "net/readiness.h"

namespace boost::asio {
class io_context;  // NOLINT(readability-identifier-naming)
}

namespace sluice::net {

class TurnEnd;

/// An event loop, run by one thread. All objects of a loop live on that thread.
///
/// A turn handles everything that is ready (sockets, timers, posted functions), then runs the
/// scheduled TurnEnds, which write accumulated output once. The clock is read at most once per
/// turn.
class Loop {
 public:
  Loop();
  /// Drops posted functions that have not run.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs turns until Stop.
  void Run();
  /// Runs turns until `done` returns true (checked after each turn), the deadline passes, or Stop.
  /// Returns the result of `done`.
  bool RunUntil(const std::function<bool()>& done, SteadyTime deadline);

  /// Makes Run return after the current turn, or immediately if called next. May be called from any
  /// thread.
  void Stop();
  /// Runs the function on the loop's thread in a later turn. May be called from any thread.
  void Post(std::function<void()> function);

  /// Returns the approximate start of this turn. On the loop's thread only.
  [[nodiscard]] SteadyTime Now() const;

  /// For Asio's sockets and timers.
  [[nodiscard]] boost::asio::io_context& context();

  /// Calls the watcher whenever the descriptor is ready for these epoll events. For descriptors
  /// that are not registered with Asio. On the loop's thread, or before it runs.
  void Watch(int fd, std::uint32_t events, Watcher& watcher);
  void ChangeWatch(int fd, std::uint32_t events, Watcher& watcher);
  /// Removes a watch. Must be called before the descriptor is closed.
  void Unwatch(int fd, const Watcher& watcher);

 private:
  friend class TurnEnd;
  struct Core;

  void Turn();
  void AwaitReadiness();
  void RunTurnEnds();

  std::unique_ptr<Core> core_;
  std::vector<TurnEnd*> turn_ends_;          ///< Scheduled for the end of this turn.
  std::vector<TurnEnd*> running_turn_ends_;  ///< Null: destroyed meanwhile.
};

/// An action that runs once at the end of the turn if it was scheduled. Lives on the loop's thread.
class TurnEnd {
 public:
  TurnEnd(Loop& loop, std::function<void()> action) : loop_(loop), action_(std::move(action)) {}
  /// Cancels.
  ~TurnEnd();
  TurnEnd(const TurnEnd&) = delete;
  TurnEnd& operator=(const TurnEnd&) = delete;

  void Schedule();

 private:
  friend class Loop;
  Loop& loop_;
  std::function<void()> action_;
  bool scheduled_ = false;
};

/// A loop with a thread that runs it.
class LoopThread {
 public:
  LoopThread();
  /// Stops the loop and waits for the thread.
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  [[nodiscard]] Loop& loop() { return loop_; }
  /// Runs the function on the loop's thread and waits for it. Must not be called from that thread.
  void Do(const std::function<void()>& function);

 private:
  Loop loop_;
  std::thread thread_;
};

}  // namespace sluice::net
