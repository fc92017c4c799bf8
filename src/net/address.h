#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

#include <sluice/result.h>

namespace sluice::net {

/// A listen address: an address of this machine and a port, or the path of a Unix socket.
struct ListenAddress {
  std::string host{};  ///< A numeric address. Empty: every address of the machine, IPv4 and IPv6.
  std::uint16_t port = 0;   ///< 0: any free port.
  std::string unix_path{};  ///< Takes precedence over host and port.

  [[nodiscard]] bool is_unix() const { return !unix_path.empty(); }
  bool operator==(const ListenAddress&) const = default;
};

/// Parses `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` (127.0.0.1), `:8080` or `*:8080` (every
/// address) and `unix:/run/sluice.sock`. Other names are not resolved.
[[nodiscard]] Result<ListenAddress> ParseListenAddress(std::string_view text);

/// Formats an address so that ParseListenAddress can read it.
[[nodiscard]] std::string ToText(const ListenAddress& address);

/// The address of a connection's peer. Self-contained.
class PeerAddress {
 public:
  enum class Family : std::uint8_t { kUnix, kIpv4, kIpv6 };

  PeerAddress() = default;  ///< A Unix socket.
  /// An IPv4-mapped IPv6 address (::ffff:1.2.3.4) becomes an IPv4 address.
  explicit PeerAddress(const sockaddr_storage& address);

  [[nodiscard]] Family family() const { return family_; }
  /// 4 or 16 bytes in network byte order; empty for Unix sockets.
  [[nodiscard]] std::span<const std::uint8_t> bytes() const;
  /// The address without its port: `10.0.0.1`, `2001:db8::1`, `unix`.
  [[nodiscard]] std::string_view text() const { return {text_.data(), text_size_}; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Returns whether the peer is on this machine: 127.0.0.0/8, ::1, or a Unix socket.
  [[nodiscard]] bool is_local() const;

 private:
  Family family_ = Family::kUnix;
  std::uint8_t text_size_ = 4;
  std::uint16_t port_ = 0;
  std::array<std::uint8_t, 16> bytes_{};
  std::array<char, INET6_ADDRSTRLEN> text_{'u', 'n', 'i', 'x'};
};

}  // namespace sluice::net
