#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <sluice/time.h>

#include "base/decimal.h"

namespace sluice::rules {

/// The calls that a penalty is for.
enum class PenaltyScope : std::uint8_t {
  kRule,     ///< The caller's calls that match the rule.
  kCaller,   ///< All calls of the caller: its API key, or without one its address.
  kNetwork,  ///< All calls from the caller's network.
};

/// What becomes of a caller that a rule keeps denying: a live entry for a while, longer with each
/// offense (docs/abuse.md).
struct Penalty {
  static constexpr std::uint32_t kWholeJitter = 10'000;

  /// Denials within `within` that make an offense; 0: they don't.
  std::int64_t denials = 0;
  /// Calls before the time that a denial named, likewise.
  std::int64_t ignored_backoff = 0;
  Micros within{0};
  std::vector<Micros> steps;  ///< Durations of the first, the second, … penalty; the last repeats.
  std::uint32_t jitter = 0;   ///< At most added to a duration, in hundredths of a percent.
  Micros forget{0};           ///< One step down for each such time without a penalty.
  PenaltyScope scope = PenaltyScope::kRule;
  std::optional<Decimal> factor{};  ///< Multiplies the limits; not set: the caller is blocked.
  int status = 429;                 ///< Of responses to blocked calls.
  bool shadow = false;              ///< Counted and reported, never enforced.

  friend bool operator==(const Penalty&, const Penalty&) = default;
};

}  // namespace sluice::rules
