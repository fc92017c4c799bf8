#include "net/signals.h"

#include <atomic>
#include <cassert>
#include <cerrno>
#include <utility>

#include <sys/eventfd.h>
#include <sys/resource.h>

namespace sluice::net {
namespace {

// State used by the signal handler, which runs on any thread at any time.
std::atomic<int> wake_fd{-1};
std::atomic<bool> ending{false};
std::atomic<bool> reload_asked{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

void Handle(int signal) {
  const int saved_errno = errno;
  if (signal == SIGHUP) {
    reload_asked.store(true);
  } else if (ending.exchange(true)) {
    struct sigaction by_default{};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    raise(signal);  // Takes effect when the handler returns.
  }
  const std::uint64_t one = 1;
  static_cast<void>(!write(wake_fd.load(), &one, sizeof one));
  errno = saved_errno;
}

void Install(int signal, void (*handler)(int), struct sigaction& old) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, &old);
}

}  // namespace

Signals::Signals(Loop& loop, Actions actions)
    : loop_(loop), actions_(std::move(actions)), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  assert(wake_fd.load() < 0);
  ending.store(false);
  reload_asked.store(false);
  wake_fd.store(event_.get());
  loop_.Watch(event_.get(), EPOLLIN, *this);
  Install(SIGTERM, &Handle, old_term_);
  Install(SIGINT, &Handle, old_int_);
  Install(SIGHUP, &Handle, old_hup_);
  Install(SIGPIPE, SIG_IGN, old_pipe_);
}

Signals::~Signals() {
  sigaction(SIGTERM, &old_term_, nullptr);
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGHUP, &old_hup_, nullptr);
  sigaction(SIGPIPE, &old_pipe_, nullptr);
  loop_.Unwatch(event_.get(), *this);
  wake_fd.store(-1);
}

void Signals::OnReady(std::uint32_t /*events*/) {
  std::uint64_t count = 0;
  // Reset before the flags are read: a later signal wakes the loop again.
  static_cast<void>(!read(event_.get(), &count, sizeof count));
  if (reload_asked.exchange(false) && actions_.on_reload) actions_.on_reload();
  if (ending.load() && actions_.on_end) std::exchange(actions_.on_end, nullptr)();
}

std::size_t RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = raised.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return limit.rlim_cur;
}

}  // namespace sluice::net
