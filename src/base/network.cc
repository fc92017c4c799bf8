#include "base/network.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace sluice {
namespace {

constexpr std::uint64_t kV4Marker = 0xFFFFULL << 32;
constexpr int kV4Offset = 96;

// A decimal number of at most `most`, without zeros in front.
std::optional<std::uint32_t> ParseDecimal(std::string_view text, std::uint32_t most) {
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  const auto number = ParseNumber<std::uint32_t>(text);
  return number && *number <= most ? number : std::nullopt;
}

std::optional<std::uint32_t> ParseV4(std::string_view text) {
  std::uint32_t bits = 0;
  std::uint32_t octet = 0;
  int digits = 0;
  int dots = 0;
  for (const char c : text) {
    if (c == '.') {
      if (digits == 0 || ++dots > 3) return std::nullopt;
      bits = bits << 8 | octet;
      octet = 0;
      digits = 0;
      continue;
    }
    if (!IsDigit(c) || (digits > 0 && octet == 0)) return std::nullopt;
    octet = octet * 10 + static_cast<std::uint32_t>(c - '0');
    ++digits;
    if (octet > 255) return std::nullopt;
  }
  if (digits == 0 || dots != 3) return std::nullopt;
  return bits << 8 | octet;
}

using Groups = std::array<std::uint16_t, 8>;

// Groups of hexadecimal digits up to the end or to "::", of which `text` keeps what is behind it.
// The last two groups may be written as an IPv4 address at the end of the text.
struct GroupRun {
  Groups groups{};
  std::size_t count = 0;
  bool ended_by_gap = false;
};

std::optional<GroupRun> ParseGroups(std::string_view& text) {
  GroupRun run;
  if (text.starts_with("::")) {
    text.remove_prefix(2);
    run.ended_by_gap = true;
    return run;
  }
  while (!text.empty()) {
    std::size_t digits = 0;
    std::uint32_t group = 0;
    while (digits < text.size() && HexDigit(text[digits]) >= 0) {
      if (digits == 4) break;
      group = group << 4 | static_cast<std::uint32_t>(HexDigit(text[digits]));
      ++digits;
    }
    if (digits == 0 || run.count == 8) return std::nullopt;
    if (digits < text.size() && text[digits] == '.') {
      const auto v4 = ParseV4(text);
      if (!v4 || run.count > 6) return std::nullopt;
      run.groups[run.count++] = static_cast<std::uint16_t>(*v4 >> 16);
      run.groups[run.count++] = static_cast<std::uint16_t>(*v4 & 0xFFFF);
      text = {};
      return run;
    }
    run.groups[run.count++] = static_cast<std::uint16_t>(group);
    text.remove_prefix(digits);
    if (text.empty()) return run;
    if (text[0] != ':' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
    if (text[0] == ':') {
      text.remove_prefix(1);
      run.ended_by_gap = true;
      return run;
    }
  }
  return run;
}

std::optional<Address> ParseV6(std::string_view text) {
  if (text.find(':') == std::string_view::npos) return std::nullopt;
  const auto head = ParseGroups(text);
  if (!head) return std::nullopt;
  Groups groups = head->groups;
  if (head->ended_by_gap) {
    const auto tail = ParseGroups(text);
    // "::" replaces at least one group.
    if (!tail || tail->ended_by_gap || head->count + tail->count > 7) return std::nullopt;
    std::copy_n(tail->groups.begin(), tail->count, groups.end() - tail->count);
  } else if (head->count != 8) {
    return std::nullopt;
  }
  Address address;
  for (std::size_t i = 0; i < 4; ++i) {
    address.high = address.high << 16 | groups[i];
    address.low = address.low << 16 | groups[i + 4];
  }
  return address;
}

struct Written {
  Address address;
  int prefix = 0;  // Of the 128 bits.
  bool v4 = false;
};

// As it is written, bits after the prefix and all.
std::optional<Written> ParseWritten(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = ParseAddress(text.substr(0, slash));
  if (!address) return std::nullopt;
  if (slash == std::string_view::npos) return Written{*address, 128, address->is_v4()};
  const bool dotted = text.substr(0, slash).find(':') == std::string_view::npos;
  const auto prefix = ParseDecimal(text.substr(slash + 1), dotted ? 32 : 128);
  if (!prefix) return std::nullopt;
  const int bits = static_cast<int>(*prefix) + (dotted ? kV4Offset : 0);
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8, but ::ffff:0:0/64 is a network of IPv6.
  return Written{*address, bits, address->is_v4() && bits >= kV4Offset};
}

char* PutDecimal(std::uint32_t octet, char* to) {
  if (octet >= 100) *to++ = static_cast<char>('0' + octet / 100);
  if (octet >= 10) *to++ = static_cast<char>('0' + octet / 10 % 10);
  *to++ = static_cast<char>('0' + octet % 10);
  return to;
}

char* PutHex(std::uint32_t group, char* to) {
  for (int shift = group > 0xFFF  ? 12
                   : group > 0xFF ? 8
                   : group > 0xF  ? 4
                                  : 0;
       shift >= 0; shift -= 4) {
    *to++ = kHexDigits[group >> shift & 0xF];
  }
  return to;
}

char* PutV6(const Address& address, char* to) {
  Groups groups;
  for (std::size_t i = 0; i < 4; ++i) {
    groups[i] = static_cast<std::uint16_t>(address.high >> (48 - 16 * i));
    groups[i + 4] = static_cast<std::uint16_t>(address.low >> (48 - 16 * i));
  }
  std::size_t gap = 8;
  std::size_t gap_size = 1;  // A single zero group is written out.
  for (std::size_t i = 0; i < 8;) {
    std::size_t end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > gap_size) {
      gap = i;
      gap_size = end - i;
    }
    i = end + 1;
  }
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == gap) {
      *to++ = ':';
      *to++ = ':';
      i += gap_size - 1;
      continue;
    }
    if (i > 0 && i != gap + gap_size) *to++ = ':';
    to = PutHex(groups[i], to);
  }
  return to;
}

}  // namespace

std::optional<Address> ParseAddress(std::string_view text) {
  if (text.size() > 45) return std::nullopt;  // Longer than any; spares reading on.
  if (const auto v4 = ParseV4(text)) return Address{.high = 0, .low = kV4Marker | *v4};
  return ParseV6(text);
}

std::optional<Address> AddressOf(std::span<const std::uint8_t> bytes) {
  Address address;
  if (bytes.size() == 4) {
    address.low = 0xFFFF;
    for (const std::uint8_t byte : bytes) address.low = address.low << 8 | byte;
    return address;
  }
  if (bytes.size() != 16) return std::nullopt;
  for (std::size_t i = 0; i < 8; ++i) {
    address.high = address.high << 8 | bytes[i];
    address.low = address.low << 8 | bytes[i + 8];
  }
  return address;
}

std::string_view FormatAddress(const Address& address, std::array<char, kMaxAddressText>& out) {
  char* to = out.data();
  if (address.is_v4()) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      to = PutDecimal(static_cast<std::uint32_t>(address.low >> shift & 0xFF), to);
      if (shift > 0) *to++ = '.';
    }
  } else {
    to = PutV6(address, to);
  }
  return {out.data(), static_cast<std::size_t>(to - out.data())};
}

Address Masked(const Address& address, int prefix) {
  if (prefix >= 128) return address;
  if (prefix > 64) return {address.high, address.low & ~std::uint64_t{0} << (128 - prefix)};
  if (prefix == 64) return {address.high, 0};
  if (prefix > 0) return {address.high & ~std::uint64_t{0} << (64 - prefix), 0};
  return {};
}

bool Network::Contains(const Address& address) const {
  return address.is_v4() == v4 && Masked(address, prefix) == base;
}

std::optional<Network> ParseNetwork(std::string_view text) {
  const auto written = ParseWritten(text);
  if (!written || Masked(written->address, written->prefix) != written->address) {
    return std::nullopt;
  }
  return Network{written->address, static_cast<std::uint8_t>(written->prefix), written->v4};
}

std::optional<std::string> NetworkProblem(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view address = text.substr(0, slash);
  if (!ParseAddress(address)) {
    return std::string("'").append(address).append("' is no IPv4 or IPv6 address");
  }
  const auto written = ParseWritten(text);
  if (!written) {
    const bool dotted = address.find(':') == std::string_view::npos;
    return std::string("the prefix '")
        .append(text.substr(slash + 1))
        .append("' is no number from 0 to ")
        .append(dotted ? "32" : "128");
  }
  const Address base = Masked(written->address, written->prefix);
  if (base == written->address) return std::nullopt;
  std::array<char, kMaxAddressText> right;
  return std::string("has bits after its prefix; did you mean ")
      .append(FormatAddress(base, right))
      .append("/")
      .append(std::to_string(written->v4 ? written->prefix - kV4Offset : written->prefix))
      .append("?");
}

bool LooksLikeNetwork(std::string_view text) {
  const std::string_view address = text.substr(0, text.find('/'));
  const bool has_prefix = address.size() < text.size();
  if (address.find_first_not_of("0123456789abcdefABCDEF:.") != std::string_view::npos) return false;
  const auto dots = std::count(address.begin(), address.end(), '.');
  const auto colons = std::count(address.begin(), address.end(), ':');
  const bool digits_only = address.find_first_not_of("0123456789.") == std::string_view::npos;
  return (digits_only && (dots == 3 || (dots > 0 && has_prefix))) || colons >= 2;
}

}  // namespace sluice
