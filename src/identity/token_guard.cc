#include "identity/token_guard.h"

#include <algorithm>
#include <utility>

#include <openssl/crypto.h>

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

TokenGuard::TokenGuard(std::string token) : token_(std::move(token)), seed_(RandomId()) {}

bool TokenGuard::IsRight(std::string_view shown) const {
  return has_token() && shown.size() == token_.size() &&
         CRYPTO_memcmp(shown.data(), token_.data(), token_.size()) == 0;
}

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

TokenVerdict TokenGuard::Check(std::string_view shown, const std::optional<Address>& from,
                               Lockout lockout, SteadyTime now) {
  const bool is_right = IsRight(shown);
  if (is_right && lockout == Lockout::kNo) return TokenVerdict::kRight;
  const Address address = GuesserOf(from);
  const std::lock_guard lock(mutex_);
  if (sets_.empty()) {
    if (is_right) return TokenVerdict::kRight;
    sets_.resize(kAddresses / kWays);
  }
  Guesser& guesser = EntryFor(address, now);
  const bool is_known = guesser.address == address;
  if (is_right) {
    return is_known && guesser.left == 0 ? TokenVerdict::kLimited : TokenVerdict::kRight;
  }
  if (!is_known) guesser = {.address = address, .left = kBurst, .refilled = now};
  if (guesser.left == 0) return TokenVerdict::kLimited;
  // A full budget does not earn more.
  if (guesser.left-- == kBurst) guesser.refilled = now;
  return TokenVerdict::kWrong;
}

}  // namespace sluice::identity
