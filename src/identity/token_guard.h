#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <sluice/time.h>

#include "base/clock.h"
#include "base/network.h"

namespace sluice::identity {

enum class TokenVerdict : std::uint8_t {
  kRight,
  kWrong,
  /// Too many wrong tokens came from this client: the token was not accepted, right or wrong, and
  /// the connection should be closed.
  kLimited,
};

/// Whether a client with too many wrong tokens is rejected even with the right one. kNo where
/// clients share an address: a proxy, or this machine.
enum class Lockout : bool { kNo, kYes };

/// Limits guesses of tokens: kBurst wrong tokens per address (IPv6: per /64), and one more every
/// kRefill. Without lockout a right token is always accepted, and each further wrong one only
/// closes its connection.
///
/// Thread-safe. Bounded: beyond kAddresses addresses, those with the fewest guesses are dropped.
/// While no address is limited, right tokens take no lock.
class TokenGuard {
 public:
  static constexpr int kBurst = 20;
  static constexpr Micros kRefill = std::chrono::seconds(3);
  static constexpr std::size_t kAddresses = 4096;

  TokenGuard();

  /// Returns whether every token from this address is rejected, so that none needs to be verified.
  /// `from` is empty for Unix sockets.
  [[nodiscard]] bool IsLimited(const std::optional<Address>& from, Lockout lockout, SteadyTime now);

  /// Counts a verified token and returns the verdict for its client.
  [[nodiscard]] TokenVerdict Check(bool is_right, const std::optional<Address>& from,
                                   Lockout lockout, SteadyTime now);

 private:
  static constexpr std::size_t kWays = 8;

  /// The wrong guesses of one address.
  struct Guesser {
    Address address{.high = ~std::uint64_t{0}, .low = 0};  ///< Initially an unused entry.
    int left = kBurst;                                     ///< Wrong guesses before it is limited.
    SteadyTime refilled{};
  };
  using Set = std::array<Guesser, kWays>;

  /// Returns the entry of the address, or one of its set that may be replaced.
  [[nodiscard]] Guesser& EntryFor(const Address& address, SteadyTime now);

  const std::uint64_t seed_;
  /// No address is limited after this time.
  std::atomic<SteadyTime> limited_until_{SteadyTime{}};
  std::mutex mutex_;
  std::vector<Set> sets_;  ///< By hash of the address. Allocated with the first wrong guess.
};

}  // namespace sluice::identity
