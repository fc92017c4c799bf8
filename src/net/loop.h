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

/// An event loop: one thread runs it, and everything that belongs to it lives on that thread.
///
/// It goes in turns. A turn handles everything that is ready (sockets, timers, posted functions),
/// then runs what was put off to its end: that is where what piled up is written, once. The clock
/// is read at most once a turn.
class Loop {
 public:
  Loop();
  /// Posted work that has not run is dropped.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Runs turns until Stop.
  void Run();
  /// Runs turns until `done` holds (it is asked after each turn), the deadline passes, or Stop.
  /// Returns whether `done` holds.
  bool RunUntil(const std::function<bool()>& done, SteadyTime deadline);

  /// Makes Run return after the current turn, or at once if it is called next. From any thread.
  void Stop();
  /// Lets the loop's thread run the function in a later turn. From any thread.
  void Post(std::function<void()> function);

  /// When this turn began, more or less. On the loop's thread only.
  [[nodiscard]] SteadyTime Now() const;

  /// For sockets and timers.
  [[nodiscard]] boost::asio::io_context& context();

  /// Tells the watcher whenever the descriptor is ready, as epoll does with these events. For
  /// descriptors that Asio does not know. On the loop's thread, or before it runs.
  void Watch(int fd, std::uint32_t events, Watcher& watcher);
  void ChangeWatch(int fd, std::uint32_t events, Watcher& watcher);
  /// The watcher hears nothing more. Before the descriptor is closed.
  void Unwatch(int fd, const Watcher& watcher);

 private:
  friend class TurnEnd;
  struct Core;

  void Turn();
  void AwaitReadiness();
  void RunTurnEnds();

  std::unique_ptr<Core> core_;
  std::vector<TurnEnd*> turn_ends_;          ///< The ones that are due.
  std::vector<TurnEnd*> running_turn_ends_;  ///< Null: destroyed meanwhile.
};

/// Something to do at the end of the turn, once, however often it was asked for. Lives on the
/// loop's thread.
class TurnEnd {
 public:
  TurnEnd(Loop& loop, std::function<void()> action) : loop_(loop), action_(std::move(action)) {}
  /// Takes back what was asked for.
  ~TurnEnd();
  TurnEnd(const TurnEnd&) = delete;
  TurnEnd& operator=(const TurnEnd&) = delete;

  void Schedule();

 private:
  friend class Loop;
  Loop& loop_;
  std::function<void()> action_;
  bool asked_ = false;
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
  /// Runs the function on the loop's thread and waits for it. Not from that thread.
  void Do(const std::function<void()>& function);

 private:
  Loop loop_;
  std::thread thread_;
};

}  // namespace sluice::net
