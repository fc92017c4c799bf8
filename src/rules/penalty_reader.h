#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config_text/reading.h"
#include "rules/penalty.h"

namespace sluice::rules {

/// Reads `penalty` of a rule or of `defaults`.
std::optional<Penalty> ReadPenalty(config_text::Reading& reading, const config_text::Field& field);

/// Returns whether `per` tells callers apart, so that one of them can be penalized: it has an
/// attribute of the caller, or is not set.
[[nodiscard]] bool IdentifiesCallers(const std::optional<std::vector<std::string>>& per);

/// Whether an attribute describes what is called, not who calls.
[[nodiscard]] bool DescribesCall(std::string_view attribute);

}  // namespace sluice::rules
