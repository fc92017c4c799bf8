#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

/// An IPv4 or IPv6 address as 128 bits. An IPv4 address is stored as ::ffff:a.b.c.d, so that both
/// notations are the same address; 2001:db8::1.2.3.4 is IPv6.
struct Address {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  [[nodiscard]] bool is_v4() const { return high == 0 && low >> 32 == 0xFFFF; }

  friend bool operator==(const Address&, const Address&) = default;
};

/// Parses an address. Strict: no spaces, no leading zeros (which some parsers read as octal), no
/// zone, no brackets, no port. Does not allocate.
[[nodiscard]] std::optional<Address> ParseAddress(std::string_view text);

/// Returns the address in network byte order: 4 bytes for IPv4, 16 for IPv6. Nothing for other
/// sizes.
[[nodiscard]] std::optional<Address> AddressOf(std::span<const std::uint8_t> bytes);

/// Maximum length of an address as text.
inline constexpr std::size_t kMaxAddressText = 39;

/// Formats an address as in RFC 5952: IPv4 as 1.2.3.4, IPv6 in lower case with the longest run of
/// zeros left out. The result points into `out`.
std::string_view FormatAddress(const Address& address, std::array<char, kMaxAddressText>& out);

/// All addresses with the same prefix. IPv4 and IPv6 are separate: ::/0 contains no IPv4 address.
struct Network {
  Address base;             ///< Bits after the prefix are 0.
  std::uint8_t prefix = 0;  ///< Of the 128 bits: at least 96 for IPv4.
  bool v4 = false;

  [[nodiscard]] bool Contains(const Address& address) const;

  friend bool operator==(const Network&, const Network&) = default;
};

/// Returns the address with all bits after the first `prefix` cleared.
[[nodiscard]] Address Masked(const Address& address, int prefix);

/// Parses "10.0.0.0/8", "2001:db8::/32", or an address, which is a network of one. Bits after the
/// prefix must be 0: 10.0.0.1/8 is usually an error. Does not allocate.
[[nodiscard]] std::optional<Network> ParseNetwork(std::string_view text);

/// Returns the reason why ParseNetwork rejects the text, for messages; nothing if it doesn't.
[[nodiscard]] std::optional<std::string> NetworkProblem(std::string_view text);

/// Returns whether the text is intended as an address or a network, valid or not.
[[nodiscard]] bool LooksLikeNetwork(std::string_view text);

}  // namespace sluice
