#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// An IPv4 or IPv6 address as 128 bits. An IPv4 address is held as ::ffff:a.b.c.d, so that both
/// ways to write it are one address; 2001:db8::1.2.3.4 is IPv6, however it is written.
struct Address {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  [[nodiscard]] bool is_v4() const { return high == 0 && low >> 32 == 0xFFFF; }

  friend bool operator==(const Address&, const Address&) = default;
};

/// Strict: no spaces, no zeros in front of a decimal number (which some read as octal), no zone, no
/// brackets, no port. Allocates nothing.
[[nodiscard]] std::optional<Address> ParseAddress(std::string_view text);

/// Of its bytes as they travel: 4 for IPv4, 16 for IPv6. Nothing if there is another number of
/// them.
[[nodiscard]] std::optional<Address> AddressOf(std::span<const std::uint8_t> bytes);

/// The longest text of an address.
inline constexpr std::size_t kMaxAddressText = 39;

/// Writes an address as RFC 5952 wants it: IPv4 as 1.2.3.4, IPv6 in small letters with the longest
/// run of zeros left out. What is returned lies in `out`.
std::string_view FormatAddress(const Address& address, std::array<char, kMaxAddressText>& out);

/// All addresses that begin with the same bits. IPv4 and IPv6 are apart: ::/0 holds no IPv4
/// address.
struct Network {
  Address base;             ///< Bits after the prefix are 0.
  std::uint8_t prefix = 0;  ///< Of the 128 bits: at least 96 for IPv4.
  bool v4 = false;

  [[nodiscard]] bool Contains(const Address& address) const;

  friend bool operator==(const Network&, const Network&) = default;
};

/// The address with all bits after the first `prefix` cleared.
[[nodiscard]] Address Masked(const Address& address, int prefix);

/// "10.0.0.0/8", "2001:db8::/32", or an address, which is a network of one. Bits after the prefix
/// must be 0: 10.0.0.1/8 is more often an error than intended. Allocates nothing.
[[nodiscard]] std::optional<Network> ParseNetwork(std::string_view text);

/// Why `ParseNetwork` refuses the text, for people; nothing if it doesn't.
[[nodiscard]] std::optional<std::string> NetworkProblem(std::string_view text);

/// True if the text is meant to be an address or a network, valid or not.
[[nodiscard]] bool LooksLikeNetwork(std::string_view text);

}  // namespace sluice
