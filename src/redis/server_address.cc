#include "redis/server_address.h"

#include "base/parse_number.h"

namespace sluice::redis {

std::string ToText(const ServerAddress& address) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

std::optional<std::string> ParseServerAddress(std::string_view text, ServerAddress& address) {
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos)
      return ExpectedFound("host", "']' after an IPv6 address", text);
    address.host = text.substr(1, bracket - 1);
    const std::string_view rest = text.substr(bracket + 1);
    has_port = rest.starts_with(':');
    if (!has_port && !rest.empty()) return ExpectedFound("host", "':' and a port after ']'", text);
    if (has_port) port = rest.substr(1);
  } else {
    const std::size_t colon = text.find(':');
    if (colon != text.rfind(':')) return ExpectedFound("host", "an IPv6 address in brackets", text);
    has_port = colon != std::string_view::npos;
    address.host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
  }
  if (address.host.empty()) return "the host is missing, as in localhost:6379";
  return has_port ? ParsePort(port, address.port) : std::nullopt;
}

std::optional<std::string> ParsePort(std::string_view text, std::uint16_t& port) {
  port = ParseNumber<std::uint16_t>(text).value_or(0);
  if (port != 0) return std::nullopt;
  return ExpectedFound("port", "a number from 1 to 65535", text);
}

std::string ExpectedFound(std::string_view what, std::string_view expected,
                          std::string_view found) {
  return std::string(what)
             .append(": expected ")
             .append(expected)
             .append(", found '")
             .append(found) +
         "'";
}

}  // namespace sluice::redis
