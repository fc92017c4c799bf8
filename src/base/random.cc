#include "base/random.h"

#include <array>
#include <cerrno>
#include <cstdlib>

#include <pthread.h>
#include <sys/random.h>

namespace sluice {
namespace {

// Asked for in bulk: a system call for each id would cost more than a check.
thread_local std::array<std::uint64_t, 32> pool;
thread_local std::size_t left = 0;

// A child must not give out its parent's ids; the thread that forked is the only one that it has.
[[maybe_unused]] const int kRegistered = pthread_atfork(nullptr, nullptr, [] { left = 0; });

}  // namespace

void FillRandom(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t got = getrandom(out.data(), out.size(), 0);
    if (got < 0 && errno != EINTR) std::abort();  // A kernel without randomness.
    if (got > 0) out = out.subspan(static_cast<std::size_t>(got));
  }
}

std::string RandomBytes(std::size_t count) {
  std::string bytes(count, '\0');
  FillRandom(std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

std::uint64_t RandomId() {
  for (;;) {
    if (left == 0) {
      FillRandom(std::as_writable_bytes(std::span(pool)));
      left = pool.size();
    }
    const std::uint64_t id = pool[--left];
    if (id != 0) return id;
  }
}

}  // namespace sluice
