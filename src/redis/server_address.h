#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::redis {

/// Where a server listens.
struct ServerAddress {
  std::string host{};  ///< A name, or an address without brackets.
  std::uint16_t port = 0;

  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

/// "127.0.0.1:6379" or "[::1]:6379".
[[nodiscard]] std::string ToText(const ServerAddress& address);

/// Reads "host", "host:port", "[::1]" or "[::1]:port"; a port that is not said stays as it is. What
/// is wrong with it, if anything.
std::optional<std::string> ParseServerAddress(std::string_view text, ServerAddress& address);

/// A number from 1 to 65535. What is wrong with it, if anything.
std::optional<std::string> ParsePort(std::string_view text, std::uint16_t& port);

/// "port: expected a number, found 'x'"
std::string ExpectedFound(std::string_view what, std::string_view expected, std::string_view found);

}  // namespace sluice::redis
