#include "control/follower.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace sluice::control {

Follower::Follower(ControlStore& store, LastGoodCopy* copy, SyncOptions options, SyncHooks hooks)
    : store_(store), sync_(store, copy, std::move(options), std::move(hooks)) {
  store_.OnNotification([this] { Wake(); });
}

Follower::~Follower() {
  Stop();
  store_.OnNotification({});
}

SyncStats Follower::Start() {
  const SteadyTime give_up = SteadyClock::Now() + kStartTimeout;
  SteadyTime next = Step();
  while (!sync_.settled() && SteadyClock::Now() < give_up && WaitUntil(std::min(next, give_up))) {
    next = Step();
  }
  thread_ = std::thread([this, next] { Run(next); });
  return sync_.Stats();
}

void Follower::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (!thread_.joinable()) return;
  thread_.join();
  sync_.Leave();
}

void Follower::Wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Follower::Run(SteadyTime next) {
  while (WaitUntil(next)) next = Step();
}

SteadyTime Follower::Step() {
  const SteadyTime next = sync_.Step(SteadyClock::Now());
  last_step_ = SteadyClock::Now();
  return next;
}

// Waits for the moment or a notification; false: it shall stop.
bool Follower::WaitUntil(SteadyTime when) {
  std::unique_lock lock(mutex_);
  const Micros wait = std::max(when - SteadyClock::Now(), Micros(0));
  changed_.wait_for(lock, wait, [this] { return woken_ || stopping_; });
  if (woken_) {
    const Micros rest = std::min(last_step_ + kMinInterval, when) - SteadyClock::Now();
    changed_.wait_for(lock, std::max(rest, Micros(0)), [this] { return stopping_; });
  }
  woken_ = false;
  return !stopping_;
}

}  // namespace sluice::control
