#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "net/loop.h"

namespace sluice::net {

/// Runs its action once after each Set, in a turn whose Now() is not before the time. Lives on the
/// loop's thread.
///
/// Optimized for deadlines that are usually postponed: setting a later time, or canceling, is an
/// assignment.
class Timer {
 public:
  Timer(Loop& loop, std::function<void()> action);
  /// Cancels.
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Sets the time, replacing the previous one.
  void Set(SteadyTime when);
  /// The action does not run, even if it is due in this turn.
  void Cancel();

 private:
  struct Alarm;
  std::shared_ptr<Alarm> alarm_;
};

}  // namespace sluice::net
