#pragma once

#include <span>

#include "config_text/reading.h"
#include "rules/attribute_names.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// Reports names of attributes that calls will hardly have. In `per`, which would leave calls
/// without a limit: a misspelled usual name is an error, another unknown one a warning. Where the
/// file declares its attributes, every other name is an error: in `per`, in conditions and costs.
void CheckAttributes(config_text::Reading& reading, const AttributeNames& names,
                     std::span<const ReadRule> rules);

}  // namespace sluice::rules
