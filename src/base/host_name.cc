#include "base/host_name.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/network.h"

namespace sluice {
namespace {

// Removes the brackets of an IPv6 address, and whatever follows a colon if it is no such address.
std::string_view WithoutPort(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(1, end - 1);
  }
  const std::size_t colon = host.find(':');
  if (colon == std::string_view::npos || ParseAddress(host)) return host;
  return host.substr(0, colon);
}

}  // namespace

std::string_view NormalizeHost(std::string_view host, std::string& buffer) {
  host = WithoutPort(host);
  while (host.ends_with('.')) host.remove_suffix(1);
  if (host.find(':') != std::string_view::npos) {
    if (const auto address = ParseAddress(host)) {
      std::array<char, kMaxAddressText> text;
      return buffer = FormatAddress(*address, text);
    }
  }
  const bool is_lower =
      std::none_of(host.begin(), host.end(), [](char c) { return c != AsciiLower(c); });
  if (is_lower) return host;
  buffer.resize(host.size());
  std::transform(host.begin(), host.end(), buffer.begin(), AsciiLower);
  return buffer;
}

}  // namespace sluice
