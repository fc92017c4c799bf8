#pragma once

#include <string>
#include <vector>

#include "config_text/diagnostic.h"
#include "rules/model.h"

namespace sluice::rules {

/// Returns warnings about endpoints with upper case letters, which never match if paths are folded
/// to lower case. `name` is the file's, for messages.
[[nodiscard]] std::vector<config_text::Diagnostic> WarnOfUpperCaseEndpoints(const std::string& name,
                                                                            const RuleFile& file);

}  // namespace sluice::rules
