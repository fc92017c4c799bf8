#pragma once

#include <span>

#include "config_text/reading.h"
#include "rules/attribute_names.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// Reports suspicious names of attributes. In `per`, where they would leave calls without a limit,
/// a misspelled well-known name is an error, another unknown one a warning. If the file declares
/// its attributes, every other name is an error: in `per`, conditions and costs.
void CheckAttributes(config_text::Reading& reading, const AttributeNames& names,
                     std::span<const ReadRule> rules);

}  // namespace sluice::rules
