#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "net/loop.h"

namespace sluice::net {

/// Runs its action once after each Set, in a turn whose Now() is not before the time. Lives on the
/// loop's thread.
///
/// Made for deadlines that are put off far more often than they pass: moving one to a later time,
/// or cancelling it, is an assignment.
class Timer {
 public:
  Timer(Loop& loop, std::function<void()> action);
  /// Cancels.
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// In place of what was set before.
  void Set(SteadyTime when);
  /// The action does not run any more, even if its time has come in this turn.
  void Cancel();

 private:
  struct Alarm;
  std::shared_ptr<Alarm> alarm_;
};

}  // namespace sluice::net
