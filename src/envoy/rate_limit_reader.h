#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "envoy/unit.h"
#include "rules/reading.h"

namespace sluice::envoy {

/// What `rate_limit` says.
struct RateLimit {
  std::uint32_t requests_per_unit = 0;  ///< 0: every call is denied.
  Unit unit = Unit::kUnknown;           ///< Of `window`.
  Micros window{0};
  bool unlimited = false;
  std::string name{};
  std::vector<std::string> replaces{};
  Limit limit;  ///< Of no meaning if `unlimited`, or if nothing is allowed.
};

/// Nothing if something is wrong with it, which has been said.
std::optional<RateLimit> ReadRateLimit(rules::Reading& reading, const rules::Field& field,
                                       Algorithm algorithm_of_file);

std::optional<Algorithm> ReadAlgorithm(rules::Reading& reading, const rules::Field& field);

}  // namespace sluice::envoy
