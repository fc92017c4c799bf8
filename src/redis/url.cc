#include "redis/url.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/url.h"
#include "redis/named_option.h"

namespace sluice::redis {
namespace {

Error InvalidUrl(std::string_view message) {
  return {ErrorCode::kInvalidOptions, std::string("redis URL: ").append(message)};
}

Error InvalidValue(std::string_view what, std::string_view found, std::string_view right) {
  return InvalidUrl(ExpectedFound(what, right, found));
}

// "user:password" or ":password".
std::optional<Error> ParseUser(std::string_view text, Options& options) {
  const std::size_t colon = text.find(':');
  std::string password;
  if (!DecodePercent(text.substr(0, colon), options.username) ||
      (colon != std::string_view::npos && !DecodePercent(text.substr(colon + 1), password))) {
    return InvalidUrl(
        "user and password: a '%' must be followed by two hexadecimal digits (%25 is '%')");
  }
  options.password = Secret(std::move(password));
  return std::nullopt;
}

constexpr std::uint16_t kSentinelPort = 26379;

// "[user:password@]name": the last part is what the sentinels call the primary.
std::optional<Error> ParseSentinelUser(std::string_view text, Options& options) {
  constexpr std::string_view kRight =
      "expected the primary's name before the sentinels, as in "
      "redis-sentinel://[user:password@]name@host:26379,host:26379";
  const std::size_t at = text.rfind('@');
  const std::string_view name = at == std::string_view::npos ? text : text.substr(at + 1);
  // User and password without a name: must not be treated as a name and shown.
  if (name.empty() || name.find(':') != std::string_view::npos) return InvalidUrl(kRight);
  if (!DecodePercent(name, options.sentinel.name)) return InvalidUrl(kRight);
  return at == std::string_view::npos ? std::nullopt : ParseUser(text.substr(0, at), options);
}

// "host:port,host:port".
std::optional<Error> ParseSeeds(std::string_view text, Options& options) {
  while (true) {
    const std::size_t comma = text.find(',');
    ServerAddress seed{.port =
                           options.topology == Topology::kSentinel ? kSentinelPort : options.port};
    if (auto problem = ParseServerAddress(text.substr(0, comma), seed)) return InvalidUrl(*problem);
    options.seeds.push_back(std::move(seed));
    if (comma == std::string_view::npos) return std::nullopt;
    text.remove_prefix(comma + 1);
  }
}

std::optional<Error> ParseHost(std::string_view text, Options& options) {
  if (options.topology != Topology::kSingle) return ParseSeeds(text, options);
  ServerAddress address{.port = options.port};
  if (auto problem = ParseServerAddress(text, address)) return InvalidUrl(*problem);
  options.host = std::move(address.host);
  options.port = address.port;
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
    if (!DecodePercent(pair.substr(equals + 1), value)) {
      return InvalidValue(name, pair.substr(equals + 1), "two hexadecimal digits after each '%'");
    }
    if (auto problem = SetOption(name, value, options)) return InvalidUrl(*problem);
  }
  return std::nullopt;
}

// The text between scheme and query, without the user.
std::optional<Error> ParsePlace(bool is_unix, std::string_view text, Options& options) {
  if (is_unix) {
    if (!text.starts_with('/')) return InvalidValue("socket", text, "a path that begins with '/'");
    if (DecodePercent(text, options.unix_socket)) return std::nullopt;
    return InvalidValue("socket", text, "two hexadecimal digits after each '%'");
  }
  const std::size_t slash = text.find('/');
  if (auto problem = ParseHost(text.substr(0, slash), options)) return problem;
  if (slash == std::string_view::npos || slash + 1 == text.size()) return std::nullopt;
  if (auto problem = SetOption("db", text.substr(slash + 1), options)) return InvalidUrl(*problem);
  return std::nullopt;
}

struct Scheme {
  std::string_view name;
  Topology topology = Topology::kSingle;
  bool tls = false;
};

const Scheme* FindScheme(std::string_view name) {
  static constexpr std::array<Scheme, 7> kSchemes = {{
      {"redis"},
      {"rediss", Topology::kSingle, true},
      {"unix"},
      {"redis-sentinel", Topology::kSentinel},
      {"rediss-sentinel", Topology::kSentinel, true},
      {"redis-cluster", Topology::kCluster},
      {"rediss-cluster", Topology::kCluster, true},
  }};
  const auto* const found = std::find_if(kSchemes.begin(), kSchemes.end(),
                                         [&](const Scheme& s) { return s.name == name; });
  return found == kSchemes.end() ? nullptr : found;
}

}  // namespace

Result<Options> ParseUrl(std::string_view url) {
  const std::size_t scheme_end = url.find("://");
  const Scheme* const scheme =
      scheme_end == std::string_view::npos ? nullptr : FindScheme(url.substr(0, scheme_end));
  if (scheme == nullptr) {
    return InvalidUrl(
        "expected redis://, rediss:// or unix://, redis-sentinel:// or redis-cluster:// at the "
        "beginning");
  }
  std::string_view rest = url.substr(scheme_end + 3);
  Options options;
  options.topology = scheme->topology;
  options.tls.enabled = scheme->tls;
  const std::size_t at = rest.rfind('@');
  const bool sentinel = scheme->topology == Topology::kSentinel;
  if (at != std::string_view::npos || sentinel) {
    const std::string_view user = at == std::string_view::npos ? "" : rest.substr(0, at);
    // Otherwise part of a password could be treated as a host and appear in an error.
    if (user.find_first_of("/?") != std::string_view::npos) {
      return InvalidUrl(
          "'/' and '?' in a user or password are written %2F and %3F, '@' after it %40");
    }
    auto problem = sentinel ? ParseSentinelUser(user, options) : ParseUser(user, options);
    if (problem) return *problem;
    rest.remove_prefix(at + 1);
  }
  const std::size_t question = rest.find('?');
  if (auto problem = ParsePlace(scheme->name == "unix", rest.substr(0, question), options)) {
    return *problem;
  }
  if (question != std::string_view::npos) {
    if (auto problem = ParseQuery(rest.substr(question + 1), options)) return *problem;
  }
  if (auto problem = FindProblem(options)) return *problem;
  return options;
}

}  // namespace sluice::redis
