#include "transport/handshake_budget.h"

#include <algorithm>

#include "base/random.h"

namespace sluice::transport {
namespace {

Micros IntervalOf(std::size_t per_second) {
  if (per_second == 0) return Micros{0};
  return std::max(
      Micros{1'000'000 / static_cast<std::int64_t>(std::min<std::size_t>(per_second, 1'000'000))},
      Micros{1});
}

}  // namespace

HandshakeBudget::HandshakeBudget(std::size_t per_second)
    : interval_(IntervalOf(per_second)), seed_(RandomId()) {}

std::atomic<std::int64_t>& HandshakeBudget::BucketOf(std::uint64_t origin) {
  // The finalizer of SplitMix64: every bit of the origin moves every bit of the result.
  std::uint64_t x = origin ^ seed_;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return full_at_[(x ^ (x >> 31)) % kBuckets];
}

bool HandshakeBudget::Take(std::uint64_t origin, SteadyTime now) {
  if (interval_ == Micros{0}) return true;
  std::atomic<std::int64_t>& bucket = BucketOf(origin);
  const std::int64_t at = now.time_since_epoch().count();
  // Relaxed: the number is all that threads share.
  std::int64_t full_at = bucket.load(std::memory_order_relaxed);
  while (true) {
    const std::int64_t next = std::max(full_at, at) + interval_.count();
    if (next > at + kWindow.count()) return false;
    if (bucket.compare_exchange_weak(full_at, next, std::memory_order_relaxed)) return true;
  }
}

void HandshakeBudget::GiveBack(std::uint64_t origin) {
  // Below the present it means "full", however far: see Take.
  if (interval_ > Micros{0}) {
    BucketOf(origin).fetch_sub(interval_.count(), std::memory_order_relaxed);
  }
}

}  // namespace sluice::transport
