#include "net/loop.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <pthread.h>

#include "net/timer.h"

namespace sluice::net {
namespace {

// Maximum number of handlers per turn, so that actions at its end are not delayed too long.
constexpr int kMostHandlersPerTurn = 1024;

}  // namespace

struct Loop::Core {
  // Concurrency hint: one thread runs it, so Asio needs no wake-ups between handlers.
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      context.get_executor()};
  std::atomic<bool> stopped{false};
  std::optional<SteadyTime> now;  // Empty until first read.
  Readiness readiness;
  boost::asio::posix::stream_descriptor readiness_fd{context};
  bool awaits_readiness = false;
};

Loop::Loop() : core_(std::make_unique<Core>()) {}
Loop::~Loop() {
  if (core_->readiness_fd.is_open()) core_->readiness_fd.release();  // It is the set's.
}

void Loop::Run() {
  while (!core_->stopped.load()) Turn();
  core_->stopped.store(false);
}

bool Loop::RunUntil(const std::function<bool()>& done, SteadyTime deadline) {
  Timer alarm(*this, [] {});  // The wake-up itself suffices.
  alarm.Set(deadline);
  while (!done() && SteadyClock::Now() < deadline && !core_->stopped.load()) Turn();
  core_->stopped.store(false);
  return done();
}

void Loop::Turn() {
  core_->now.reset();
  // Under load there is always an event, so the nested epoll set is never armed and disarmed.
  const bool busy = core_->readiness.Poll() > 0;
  int handled = 0;
  // Actions scheduled before the loop ran, or at the end of the last turn, must not wait.
  if (!busy && turn_ends_.empty()) {
    AwaitReadiness();
    core_->context.run_one();
    ++handled;
  }
  while (handled < kMostHandlersPerTurn && core_->context.poll_one() > 0) ++handled;
  RunTurnEnds();
}

// Makes the next wait also end when a watched descriptor is ready.
void Loop::AwaitReadiness() {
  if (core_->readiness.watched() == 0 || core_->awaits_readiness) return;
  if (!core_->readiness_fd.is_open()) core_->readiness_fd.assign(core_->readiness.fd());
  core_->awaits_readiness = true;
  core_->readiness_fd.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                                 [this](const boost::system::error_code& error) {
                                   core_->awaits_readiness = false;
                                   if (!error) core_->readiness.Poll();
                                 });
}

void Loop::RunTurnEnds() {
  running_turn_ends_.swap(turn_ends_);
  for (TurnEnd* const turn_end : running_turn_ends_) {
    if (turn_end == nullptr) continue;  // Destroyed by one before it.
    turn_end->scheduled_ = false;
    turn_end->action_();
  }
  running_turn_ends_.clear();
}

void Loop::Stop() {
  core_->stopped.store(true);
  Post([] {});  // Ends the turn.
}

void Loop::Post(std::function<void()> function) {
  boost::asio::post(core_->context, std::move(function));
}

SteadyTime Loop::Now() const {
  if (!core_->now) core_->now = SteadyClock::Now();
  return *core_->now;
}

void Loop::Watch(int fd, std::uint32_t events, Watcher& watcher) {
  core_->readiness.Watch(fd, events, watcher);
}

void Loop::ChangeWatch(int fd, std::uint32_t events, Watcher& watcher) {
  core_->readiness.Change(fd, events, watcher);
}

void Loop::Unwatch(int fd, const Watcher& watcher) { core_->readiness.Unwatch(fd, watcher); }

boost::asio::io_context& Loop::context() { return core_->context; }

TurnEnd::~TurnEnd() {
  std::erase(loop_.turn_ends_, this);
  std::replace(loop_.running_turn_ends_.begin(), loop_.running_turn_ends_.end(), this,
               static_cast<TurnEnd*>(nullptr));
}

void TurnEnd::Schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  loop_.turn_ends_.push_back(this);
}

LoopThread::LoopThread()
    : thread_([this] {
        pthread_setname_np(pthread_self(), "sluice-loop");  // Thread name for debugging.
        loop_.Run();
      }) {}

LoopThread::~LoopThread() {
  loop_.Stop();
  thread_.join();
}

void LoopThread::Do(const std::function<void()>& function) {
  // Shared: the notifier may still use it after the waiter has returned.
  const auto done = std::make_shared<std::promise<void>>();
  loop_.Post([&function, done] {
    function();
    done->set_value();
  });
  done->get_future().wait();
}

}  // namespace sluice::net
