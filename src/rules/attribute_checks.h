#pragma once

#include <span>
#include <string>

#include "config_text/reading.h"
#include "rules/attribute_names.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// Reports suspicious names of attributes. In `per`, where they would leave calls without a limit,
/// a misspelled well-known name is an error, another unknown one a warning. If the file declares
/// its attributes, every other name is an error: in `per`, conditions and costs, except for costs
/// that are one of the `quantities`, or a usual one.
void CheckAttributes(config_text::Reading& reading, const AttributeNames& names,
                     std::span<const std::string> quantities, std::span<const ReadRule> rules);

}  // namespace sluice::rules
