#include "net/readiness.h"

#include <cassert>

namespace sluice::net {

void Readiness::Watch(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  [[maybe_unused]] const int failed = epoll_ctl(set_.get(), EPOLL_CTL_ADD, fd, &event);
  assert(failed == 0);
  ++watched_;
}

void Readiness::Change(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  [[maybe_unused]] const int failed = epoll_ctl(set_.get(), EPOLL_CTL_MOD, fd, &event);
  assert(failed == 0);
}

void Readiness::Unwatch(int fd, const Watcher& watcher) {
  epoll_ctl(set_.get(), EPOLL_CTL_DEL, fd, nullptr);
  --watched_;
  for (int i = next_; i < collected_; ++i) {
    epoll_event& event = events_[static_cast<std::size_t>(i)];
    if (event.data.ptr == &watcher) event.data.ptr = nullptr;
  }
}

int Readiness::Poll() {
  assert(next_ == collected_);  // Not from within a watcher.
  if (watched_ == 0) return 0;
  const int ready = epoll_wait(set_.get(), events_.data(), static_cast<int>(events_.size()), 0);
  if (ready <= 0) return 0;
  collected_ = ready;
  next_ = 0;
  while (next_ < collected_) {
    const epoll_event event = events_[static_cast<std::size_t>(next_++)];
    if (event.data.ptr == nullptr) continue;  // Unwatched by one before it.
    static_cast<Watcher*>(event.data.ptr)->OnReady(event.events);
  }
  return ready;
}

}  // namespace sluice::net
