#pragma once

#include <memory>
#include <string>

#include "rules/rule_set.h"

namespace sluice::app {

/// The rules of a file; null if something is wrong with it, which is then told on standard error.
[[nodiscard]] std::shared_ptr<const rules::RuleSet> LoadRules(const std::string& path);

}  // namespace sluice::app
