#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rules/mapping.h"

namespace sluice::rules {

/// Reads which attributes share one budget: `per`, or `scope` with `attributes`. Nothing if the
/// rule leaves it out.
std::optional<std::vector<std::string>> ReadPer(const Mapping& rule);

/// Reads the attribute that keys are placed by, which must be one of `per`; may be empty.
std::string ReadHashTag(const Mapping& rule, const std::optional<std::vector<std::string>>& per);

}  // namespace sluice::rules
