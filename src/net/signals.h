#pragma once

#include <csignal>
#include <functional>

#include "net/fd.h"
#include "net/loop.h"
#include "net/readiness.h"

namespace sluice::net {

/// Delivers signals as events of a loop:
///
/// - SIGTERM, SIGINT: `on_end`, once. A second one terminates the process immediately, even if the
///   loop is stuck.
/// - SIGHUP: `on_reload`. Several in quick succession may be merged.
/// - SIGPIPE is ignored.
///
/// Lives on the loop's thread. At most one at a time; may be created before or after other threads.
/// The destructor restores the previous handlers.
class Signals final : private Watcher {
 public:
  struct Actions {
    std::function<void()> on_end;
    std::function<void()> on_reload;
  };

  Signals(Loop& loop, Actions actions);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void OnReady(std::uint32_t events) override;

  Loop& loop_;
  Actions actions_;
  Fd event_;
  struct sigaction old_term_{};
  struct sigaction old_int_{};
  struct sigaction old_hup_{};
  struct sigaction old_pipe_{};
};

/// Raises the soft limit of open files to the hard limit. Returns the new limit.
std::size_t RaiseFileLimit();

}  // namespace sluice::net
