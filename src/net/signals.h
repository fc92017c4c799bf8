#pragma once

#include <csignal>
#include <functional>

#include "net/fd.h"
#include "net/loop.h"
#include "net/readiness.h"

namespace sluice::net {

/// Signals of a server as events of a loop:
///
/// - SIGTERM, SIGINT: `on_end`, once. The second ends the process on the spot, as without a handler
///   caught it, even if the loop is stuck.
/// - SIGHUP: `on_reload`. Several that come together may count as one.
/// - SIGPIPE is ignored.
///
/// Lives on the loop's thread. There is one at most at a time; it may be made before or after other
/// threads. Destroyed, it puts back what it found.
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

/// Lets this process open as many files as it may: raises the soft limit to the hard one. Returns
/// what the limit is now.
std::size_t RaiseFileLimit();

}  // namespace sluice::net
