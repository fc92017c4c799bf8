#include "identity/token_guard.h"

#include <algorithm>

#include "base/random.h"

namespace sluice::identity {
namespace {

constexpr int kIpv6Prefix = 64;

// Unix sockets share one entry. No client has this address.
constexpr Address kUnixSocket{.high = ~std::uint64_t{0}, .low = ~std::uint64_t{0}};

Address GuesserOf(const std::optional<Address>& from) {
  if (!from) return kUnixSocket;
  return from->is_v4() ? *from : Masked(*from, kIpv6Prefix);
}

// Seeded, so that a client can't choose addresses that share a set.
std::size_t Mix(const Address& address, std::uint64_t seed) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;
  std::uint64_t mixed = (address.high ^ seed) * kOdd;
  mixed = (mixed ^ (mixed >> 32) ^ address.low) * kOdd;
  mixed = (mixed ^ (mixed >> 29) ^ seed) * kOdd;
  return static_cast<std::size_t>(mixed >> 32);
}

}  // namespace

TokenGuard::TokenGuard() : seed_(RandomId()) {}

TokenGuard::Guesser& TokenGuard::EntryFor(const Address& address, SteadyTime now) {
  Set& set = sets_[Mix(address, seed_) % sets_.size()];
  Guesser* spare = &set.front();
  for (Guesser& each : set) {
    const auto earned = std::min<std::int64_t>((now - each.refilled) / kRefill, kBurst);
    if (earned > 0) {
      each.left = std::min(each.left + static_cast<int>(earned), kBurst);
      each.refilled += earned * kRefill;
    }
    if (each.address == address) return each;
    if (each.left > spare->left) spare = &each;
  }
  return *spare;
}

bool TokenGuard::IsLimited(const std::optional<Address>& from, Lockout lockout, SteadyTime now) {
  // Relaxed: what the time guards is read under the lock.
  if (lockout == Lockout::kNo || now >= limited_until_.load(std::memory_order_relaxed)) {
    return false;
  }
  const Address address = GuesserOf(from);
  const std::lock_guard lock(mutex_);
  const Guesser& guesser = EntryFor(address, now);
  return guesser.address == address && guesser.left == 0;
}

TokenVerdict TokenGuard::Check(bool is_right, const std::optional<Address>& from, Lockout lockout,
                               SteadyTime now) {
  if (is_right) {
    return IsLimited(from, lockout, now) ? TokenVerdict::kLimited : TokenVerdict::kRight;
  }
  const Address address = GuesserOf(from);
  const std::lock_guard lock(mutex_);
  if (sets_.empty()) sets_.resize(kAddresses / kWays);
  Guesser& guesser = EntryFor(address, now);
  if (guesser.address != address) {
    guesser = {.address = address, .left = kBurst, .refilled = now};
  }
  const bool was_limited = guesser.left == 0;
  // A full budget does not earn more.
  if (!was_limited && guesser.left-- == kBurst) guesser.refilled = now;
  if (guesser.left == 0) limited_until_.store(now + kRefill, std::memory_order_relaxed);
  return was_limited ? TokenVerdict::kLimited : TokenVerdict::kWrong;
}

}  // namespace sluice::identity
