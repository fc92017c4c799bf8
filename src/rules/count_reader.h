#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config_text/reading.h"
#include "rules/count.h"
#include "rules/model.h"

namespace sluice::rules {

/// A weighted sum, with weights in parts of which a unit has `scale`.
struct ReadCountResult {
  Count count;
  std::int64_t scale = 1;
};

/// Reads `count`, as in `{input_tokens: 1, cached_tokens: 0.1}`. Weights are exact: decimals, or
/// fractions such as 1/3.
ReadCountResult ReadCount(config_text::Reading& reading, const config_text::Field& field);

/// Reads `models`: patterns of models, and their prices in USD per million units.
std::vector<ModelPrice> ReadModels(config_text::Reading& reading, const config_text::Field& field);

/// Reads `quantities`: names that calls may use although no limit counts them.
std::vector<std::string> ReadQuantities(config_text::Reading& reading,
                                        const config_text::Field& field);

/// Completes the file's `quantities`: usual ones, and those that limits and prices count.
void CollectQuantities(RuleFile& file);

}  // namespace sluice::rules
