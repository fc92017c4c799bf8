#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "config_text/reading.h"
#include "envoy/unit.h"

namespace sluice::envoy {

/// The content of `rate_limit`.
struct RateLimit {
  std::uint32_t requests_per_unit = 0;  ///< 0: every call is denied.
  Unit unit = Unit::kUnknown;           ///< Of `window`.
  Micros window{0};
  bool unlimited = false;
  std::string name{};
  std::vector<std::string> replaces{};
  Limit limit;  ///< Undefined if `unlimited`, or if nothing is allowed.
};

/// Returns nothing, and reports errors, if it is invalid.
std::optional<RateLimit> ReadRateLimit(config_text::Reading& reading,
                                       const config_text::Field& field,
                                       Algorithm algorithm_of_file);

std::optional<Algorithm> ReadAlgorithm(config_text::Reading& reading,
                                       const config_text::Field& field);

}  // namespace sluice::envoy
