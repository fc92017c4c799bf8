#pragma once

#include "config_text/reading.h"
#include "rules/model.h"
#include "rules/pattern_cover.h"
#include "rules/rule_reader.h"

namespace sluice::rules {

/// Reports overrides of the rule that can't match: excluded by the rule's own conditions, by the
/// known keys, or by an earlier override. `known_keys` is nullptr if every key is known.
void CheckOverrides(config_text::Reading& reading, const ReadRule& rule,
                    const PatternSet* known_keys);

}  // namespace sluice::rules
