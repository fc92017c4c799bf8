#include "redis/url.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "redis/named_option.h"

namespace sluice::redis {
namespace {

Error Invalid(std::string_view message) {
  return {ErrorCode::kInvalidOptions, std::string("redis URL: ").append(message)};
}

Error InvalidValue(std::string_view what, std::string_view found, std::string_view right) {
  return Invalid(ExpectedFound(what, right, found));
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// False if a '%' is not followed by two hexadecimal digits.
bool PercentDecode(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) return false;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

// "user:password" or ":password".
std::optional<Error> ParseUser(std::string_view text, Options& options) {
  const std::size_t colon = text.find(':');
  std::string password;
  if (!PercentDecode(text.substr(0, colon), options.username) ||
      (colon != std::string_view::npos && !PercentDecode(text.substr(colon + 1), password))) {
    return Invalid(
        "user and password: a '%' must be followed by two hexadecimal digits (%25 is '%')");
  }
  options.password = Secret(std::move(password));
  return std::nullopt;
}

std::optional<Error> ParseHost(std::string_view text, Options& options) {
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos)
      return InvalidValue("host", text, "']' after an IPv6 address");
    options.host = text.substr(1, bracket - 1);
    const std::string_view rest = text.substr(bracket + 1);
    has_port = rest.starts_with(':');
    if (!has_port && !rest.empty()) return InvalidValue("host", text, "':' and a port after ']'");
    if (has_port) port = rest.substr(1);
  } else {
    const std::size_t colon = text.find(':');
    if (colon != text.rfind(':')) return InvalidValue("host", text, "an IPv6 address in brackets");
    has_port = colon != std::string_view::npos;
    options.host = text.substr(0, colon);
    if (has_port) port = text.substr(colon + 1);
  }
  if (options.host.empty()) return Invalid("the host is missing, as in redis://localhost:6379");
  if (!has_port) return std::nullopt;
  if (auto problem = SetOption("port", port, options)) return Invalid(*problem);
  return std::nullopt;
}

std::optional<Error> ParseQuery(std::string_view query, Options& options) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equals = pair.find('=');
    if (equals == std::string_view::npos) return InvalidValue("option", pair, "name=value");
    std::string value;
    const std::string_view name = pair.substr(0, equals);
    if (!PercentDecode(pair.substr(equals + 1), value)) {
      return InvalidValue(name, pair.substr(equals + 1), "two hexadecimal digits after each '%'");
    }
    if (auto problem = SetOption(name, value, options)) return Invalid(*problem);
  }
  return std::nullopt;
}

// What stands between the scheme and the query, without the user.
std::optional<Error> ParsePlace(std::string_view scheme, std::string_view text, Options& options) {
  if (scheme == "unix") {
    if (!text.starts_with('/')) return InvalidValue("socket", text, "a path that begins with '/'");
    if (PercentDecode(text, options.unix_socket)) return std::nullopt;
    return InvalidValue("socket", text, "two hexadecimal digits after each '%'");
  }
  options.tls.enabled = scheme == "rediss";
  const std::size_t slash = text.find('/');
  if (auto problem = ParseHost(text.substr(0, slash), options)) return problem;
  if (slash == std::string_view::npos || slash + 1 == text.size()) return std::nullopt;
  if (auto problem = SetOption("db", text.substr(slash + 1), options)) return Invalid(*problem);
  return std::nullopt;
}

}  // namespace

Result<Options> ParseUrl(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  const std::string_view scheme = url.substr(0, scheme_end);
  if (scheme_end == std::string_view::npos ||
      (scheme != "redis" && scheme != "rediss" && scheme != "unix")) {
    return Invalid("expected redis://, rediss:// or unix:// at the beginning");
  }
  std::string_view rest = url.substr(scheme_end + 3);
  Options options;
  const std::size_t at = rest.rfind('@');
  if (at != std::string_view::npos) {
    // Else part of a password would be taken for a host, and shown in an error.
    if (rest.substr(0, at).find_first_of("/?") != std::string_view::npos) {
      return Invalid("'/' and '?' in a user or password are written %2F and %3F, '@' after it %40");
    }
    if (auto problem = ParseUser(rest.substr(0, at), options)) return *problem;
    rest.remove_prefix(at + 1);
  }
  const std::size_t question = rest.find('?');
  if (auto problem = ParsePlace(scheme, rest.substr(0, question), options)) return *problem;
  if (question != std::string_view::npos) {
    if (auto problem = ParseQuery(rest.substr(question + 1), options)) return *problem;
  }
  if (auto problem = FindProblem(options)) return *problem;
  return options;
}

}  // namespace sluice::redis
