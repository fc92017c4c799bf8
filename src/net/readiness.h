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
  /// `events` are epoll's: EPOLLIN, EPOLLOUT and so on.
  virtual void OnReady(std::uint32_t events) = 0;

 protected:
  ~Watcher() = default;
};

/// An epoll set. Watches are permanent, unlike Asio's waits, which are re-armed after each event: a
/// busy connection needs no system calls but its reads and writes.
class Readiness {
 public:
  void Watch(int fd, std::uint32_t events, Watcher& watcher);
  void Change(int fd, std::uint32_t events, Watcher& watcher);
  /// Removes a watch; collected events are not delivered any more.
  void Unwatch(int fd, const Watcher& watcher);

  [[nodiscard]] std::size_t watched() const { return watched_; }
  /// The epoll descriptor, which is readable when a watched one is ready.
  [[nodiscard]] int fd() const { return set_.get(); }

  /// Calls the watchers of ready descriptors. Returns their number.
  int Poll();

 private:
  static constexpr std::size_t kMostEvents = 256;

  /// Opened in the constructor, so that it can't fail later for lack of descriptors.
  Fd set_{epoll_create1(EPOLL_CLOEXEC)};
  std::size_t watched_ = 0;
  std::array<epoll_event, kMostEvents> events_{};
  int collected_ = 0;
  int next_ = 0;
};

}  // namespace sluice::net
