#include "net/timer.h"

#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>

namespace sluice::net {
namespace {

// Margin against spinning because of different rounding of clocks.
constexpr Micros kShortest{1};
// Asio's nanoseconds overflow earlier than our times; a timer that fires too early is re-armed.
constexpr Micros kLongest = std::chrono::hours(1);

}  // namespace

// Outlives the Timer while Asio has a pending wait.
struct Timer::Alarm : std::enable_shared_from_this<Timer::Alarm> {
  Alarm(Loop& its_loop, std::function<void()> its_action)
      : loop(its_loop), action(std::move(its_action)), timer(its_loop.context()) {}

  // Arms Asio's timer for `due` or earlier; it is re-armed if it fires too early.
  void Arm() {
    if (armed <= due) return;
    armed = due;
    timer.expires_after(std::clamp(due - loop.Now(), kShortest, kLongest));
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (!error) self->Wake();
    });
  }

  void Wake() {
    armed = SteadyTime::max();
    if (due > loop.Now()) return Arm();
    due = SteadyTime::max();
    // The action may destroy the Timer.
    const auto self = shared_from_this();
    action();
  }

  Loop& loop;
  std::function<void()> action;
  boost::asio::steady_timer timer;
  SteadyTime due = SteadyTime::max();    // max(): not set.
  SteadyTime armed = SteadyTime::max();  // max(): not armed.
};

Timer::Timer(Loop& loop, std::function<void()> action)
    : alarm_(std::make_shared<Alarm>(loop, std::move(action))) {}

Timer::~Timer() {
  alarm_->due = SteadyTime::max();
  alarm_->timer.cancel();
}

void Timer::Set(SteadyTime when) {
  alarm_->due = when;
  alarm_->Arm();
}

void Timer::Cancel() { alarm_->due = SteadyTime::max(); }

}  // namespace sluice::net
