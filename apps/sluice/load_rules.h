#pragma once

#include <memory>
#include <string>

#include "match/rule_set.h"

namespace sluice::app {

/// The rules of a file; null if it has errors, which are then printed to standard error.
[[nodiscard]] std::shared_ptr<const match::RuleSet> LoadRules(const std::string& path);

}  // namespace sluice::app
