#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace sluice::bench {

/// A token bucket in Redis as it is usually written: a hash of `tokens` and `last_refill`, a
/// script, and one call of it for each check. It reads Redis' clock, as ours does. KEYS: the
/// bucket. ARGV: capacity, tokens per second, cost.
extern const std::string_view kUsualScript;

/// Tokens per second, as the script wants them.
std::string UsualRate(std::int64_t per_hour);

struct UsualRun {
  std::uint16_t port;
  std::string sha;  ///< Under which Redis knows the script.
  std::int64_t capacity;
  std::int64_t per_hour;
  std::size_t keys;
  std::size_t depth;  ///< Checks that wait at a time, on one connection.
  std::size_t checks;
};

/// Lets redis-benchmark make the checks. Returns checks per second, or exits with a message.
double UsualChecksPerSecond(const UsualRun& run);

}  // namespace sluice::bench
