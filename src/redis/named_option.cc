#include "redis/named_option.h"

#include <array>
#include <cstdint>
#include <utility>

#include "base/duration.h"
#include "base/parse_number.h"

namespace sluice::redis {
namespace {

std::string* TextNamed(std::string_view name, Options& options) {
  const std::array<std::pair<std::string_view, std::string*>, 10> texts = {{
      {"client_name", &options.client_name},
      {"password_file", &options.password_file},
      {"password_env", &options.password_env},
      {"ca_file", &options.tls.ca_file},
      {"cert_file", &options.tls.cert_file},
      {"key_file", &options.tls.key_file},
      {"server_name", &options.tls.server_name},
      {"sentinel_username", &options.sentinel.username},
      {"sentinel_password_file", &options.sentinel.password_file},
      {"sentinel_password_env", &options.sentinel.password_env},
  }};
  for (const auto& [text, field] : texts) {
    if (name == text) return field;
  }
  return nullptr;
}

Micros* DurationNamed(std::string_view name, Options& options) {
  const std::array<std::pair<std::string_view, Micros*>, 8> durations = {{
      {"connect_timeout", &options.connect_timeout},
      {"stall_timeout", &options.stall_timeout},
      {"backoff_min", &options.backoff_min},
      {"backoff_max", &options.backoff_max},
      {"breaker_window", &options.breaker.window},
      {"breaker_all_failing", &options.breaker.all_failing},
      {"breaker_slow", &options.breaker.slow},
      {"breaker_pause", &options.breaker.pause},
  }};
  for (const auto& [duration, field] : durations) {
    if (name == duration) return field;
  }
  return nullptr;
}

std::uint32_t* NumberNamed(std::string_view name, Options& options) {
  const std::array<std::pair<std::string_view, std::uint32_t*>, 5> numbers = {{
      {"db", &options.database},
      {"breaker_failures", &options.breaker.failures},
      {"breaker_least_percent", &options.breaker.least_percent},
      {"breaker_probes", &options.breaker.probes},
      {"breaker_successes", &options.breaker.successes},
  }};
  for (const auto& [number, field] : numbers) {
    if (name == number) return field;
  }
  return nullptr;
}

bool* FlagNamed(std::string_view name, Options& options) {
  if (name == "verify") return &options.tls.verify;
  return name == "breaker" ? &options.breaker.enabled : nullptr;
}

}  // namespace

std::optional<std::string> SetOption(std::string_view name, std::string_view value,
                                     Options& options) {
  if (std::string* text = TextNamed(name, options)) {
    *text = value;
    return std::nullopt;
  }
  if (Micros* duration = DurationNamed(name, options)) {
    const auto parsed = ParseDuration(value);
    if (parsed) *duration = *parsed;
    if (parsed) return std::nullopt;
    return ExpectedFound(name, "a number with a unit, such as 250ms or 1s", value);
  }
  if (name == "port") return ParsePort(value, options.port);
  if (std::uint32_t* number = NumberNamed(name, options)) {
    const auto parsed = ParseNumber<std::uint32_t>(value);
    if (parsed) *number = *parsed;
    if (parsed) return std::nullopt;
    return ExpectedFound(name == "db" ? "database" : name, "a number from 0 on", value);
  }
  if (bool* flag = FlagNamed(name, options)) {
    *flag = value == "true";
    if (value == "true" || value == "false") return std::nullopt;
    return ExpectedFound(name, "true or false", value);
  }
  return ExpectedFound(
      "option",
      "one of port, db, client_name, password_file, password_env, ca_file, cert_file, key_file, "
      "server_name, verify, connect_timeout, stall_timeout, backoff_min, backoff_max, "
      "breaker, breaker_failures, breaker_window, breaker_least_percent, breaker_all_failing, "
      "breaker_slow, breaker_pause, breaker_probes, breaker_successes, sentinel_username, "
      "sentinel_password_file, sentinel_password_env",
      name);
}

}  // namespace sluice::redis
