#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
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

/// Verifies a secret token and limits guesses: kBurst wrong tokens per address (IPv6: per /64), and
/// one more every kRefill. Without lockout the right token is always accepted, and each further
/// wrong one only closes its connection.
///
/// Thread-safe. Bounded: beyond kAddresses addresses, those with the fewest guesses are dropped.
class TokenGuard {
 public:
  static constexpr int kBurst = 20;
  static constexpr Micros kRefill = std::chrono::seconds(3);
  static constexpr std::size_t kAddresses = 4096;

  /// Empty: no token; every guess is wrong.
  explicit TokenGuard(std::string token = {});

  [[nodiscard]] bool has_token() const { return !token_.empty(); }

  /// `from` is empty for Unix sockets.
  [[nodiscard]] TokenVerdict Check(std::string_view shown, const std::optional<Address>& from,
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

  [[nodiscard]] bool IsRight(std::string_view shown) const;
  /// Returns the entry of the address, or one of its set that may be replaced.
  [[nodiscard]] Guesser& EntryFor(const Address& address, SteadyTime now);

  const std::string token_;
  const std::uint64_t seed_;
  std::mutex mutex_;
  std::vector<Set> sets_;  ///< By hash of the address. Allocated with the first wrong guess.
};

}  // namespace sluice::identity
