#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::redis {

/// The address of a server.
struct ServerAddress {
  std::string host{};  ///< A name, or an address without brackets.
  std::uint16_t port = 0;

  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

/// "127.0.0.1:6379" or "[::1]:6379".
[[nodiscard]] std::string ToText(const ServerAddress& address);

/// Parses "host", "host:port", "[::1]" or "[::1]:port"; without a port, `address.port` is
/// unchanged. Returns an error message, or nothing.
std::optional<std::string> ParseServerAddress(std::string_view text, ServerAddress& address);

/// Parses a number from 1 to 65535. Returns an error message, or nothing.
std::optional<std::string> ParsePort(std::string_view text, std::uint16_t& port);

/// Returns a message such as "port: expected a number, found 'x'".
std::string ExpectedFound(std::string_view what, std::string_view expected, std::string_view found);

}  // namespace sluice::redis
