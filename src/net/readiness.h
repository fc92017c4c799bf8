#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <sys/epoll.h>

#include "net/fd.h"

namespace sluice::net {

/// Callback for a descriptor that can be read or written.
class Watcher {
 public:
  /// The events of epoll: EPOLLIN, EPOLLOUT and so on.
  virtual void OnReady(std::uint32_t events) = 0;

 protected:
  ~Watcher() = default;
};

/// An epoll set of our own. What is watched stays watched, unlike Asio's waits, which are asked for
/// again after each event: a busy connection then costs no more system calls than its reads and
/// writes.
class Readiness {
 public:
  void Watch(int fd, std::uint32_t events, Watcher& watcher);
  void Change(int fd, std::uint32_t events, Watcher& watcher);
  /// The watcher hears nothing more, even of what has been collected already.
  void Unwatch(int fd, const Watcher& watcher);

  [[nodiscard]] std::size_t watched() const { return watched_; }
  /// The set's descriptor, which is readable when a watched one is ready.
  [[nodiscard]] int fd() const { return set_.get(); }

  /// Tells the watchers of what is ready now. Returns how many there were.
  int Poll();

 private:
  static constexpr std::size_t kMostEvents = 256;

  /// Opened at once: a process that has run out of descriptors later can still watch sockets.
  Fd set_{epoll_create1(EPOLL_CLOEXEC)};
  std::size_t watched_ = 0;
  std::array<epoll_event, kMostEvents> events_{};
  int collected_ = 0;
  int next_ = 0;
};

}  // namespace sluice::net
