#include "net/address.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <arpa/inet.h>
#include <sys/un.h>

#include "base/parse_number.h"

namespace sluice::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
constexpr std::size_t kMaxPath = sizeof(sockaddr_un::sun_path) - 1;

Error Problem(std::string_view text, std::string_view what) {
  return {
      ErrorCode::kInvalidOptions,
      std::string("\"").append(text).append("\" is not an address to listen on: ").append(what)};
}

bool IsNumeric(int family, const std::string& host) {
  in6_addr ignored{};
  return inet_pton(family, host.c_str(), &ignored) == 1;
}

Result<ListenAddress> ParseUnix(std::string_view text) {
  const std::string_view path = text.substr(kUnixPrefix.size());
  if (path.empty()) return Problem(text, "the path is missing, as in unix:/run/sluice.sock");
  if (path.size() > kMaxPath) {
    return Problem(text, "the path is longer than " + std::to_string(kMaxPath) + " bytes");
  }
  if (path.find('\0') != std::string_view::npos) return Problem(text, "the path has a NUL in it");
  return ListenAddress{.unix_path = std::string(path)};
}

}  // namespace

Result<ListenAddress> ParseListenAddress(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return ParseUnix(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return Problem(text, "the port is missing, as in 127.0.0.1:8080");
  }
  std::string_view host = text.substr(0, colon);
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (brackets) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return Problem(text, "an IPv6 address goes into brackets, as in [::1]:8080");
  }
  const auto port = ParseNumber<std::uint16_t>(text.substr(colon + 1));
  if (!port) return Problem(text, "the port must be a number from 0 to 65535");
  if (!brackets && (host.empty() || host == "*")) return ListenAddress{.port = *port};
  if (!brackets && host == "localhost") host = "127.0.0.1";
  ListenAddress address{.host = std::string(host), .port = *port};
  if (!IsNumeric(brackets ? AF_INET6 : AF_INET, address.host)) {
    return Problem(text, brackets ? "no IPv6 address in the brackets"
                                  : "the host must be an IPv4 address, [an IPv6 address], "
                                    "localhost, or nothing for every address");
  }
  return address;
}

std::string ToText(const ListenAddress& address) {
  if (address.is_unix()) return std::string(kUnixPrefix) + address.unix_path;
  const bool brackets = address.host.find(':') != std::string::npos;
  std::string text = brackets ? "[" + address.host + "]" : address.host;
  return text.append(":").append(std::to_string(address.port));
}

PeerAddress::PeerAddress(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    family_ = Family::kIpv4;
    port_ = ntohs(ipv4.sin_port);
    std::memcpy(bytes_.data(), &ipv4.sin_addr, sizeof ipv4.sin_addr);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof ipv6);
    port_ = ntohs(ipv6.sin6_port);
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&ipv6.sin6_addr);
    family_ = mapped ? Family::kIpv4 : Family::kIpv6;
    const auto& bytes = ipv6.sin6_addr.s6_addr;
    std::copy(std::begin(bytes) + (mapped ? 12 : 0), std::end(bytes), bytes_.begin());
  } else {
    return;
  }
  inet_ntop(family_ == Family::kIpv4 ? AF_INET : AF_INET6, bytes_.data(), text_.data(),
            static_cast<socklen_t>(text_.size()));
  text_size_ = static_cast<std::uint8_t>(std::strlen(text_.data()));
}

std::span<const std::uint8_t> PeerAddress::bytes() const {
  switch (family_) {
    case Family::kUnix:
      return {};
    case Family::kIpv4:
      return std::span(bytes_).first(4);
    case Family::kIpv6:
      return bytes_;
  }
  return {};
}

bool PeerAddress::is_local() const {
  switch (family_) {
    case Family::kUnix:
      return true;
    case Family::kIpv4:
      return bytes_[0] == 127;
    case Family::kIpv6:
      return bytes_[15] == 1 &&
             std::all_of(bytes_.begin(), bytes_.end() - 1, [](std::uint8_t b) { return b == 0; });
  }
  return false;
}

}  // namespace sluice::net
