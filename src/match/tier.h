#pragma once

#include <algorithm>
#include <string_view>

#include "rules/model.h"

namespace sluice::match {

/// A file that names tiers knows no others: a caller with an invented tier must not pass their
/// limits.
[[nodiscard]] inline bool IsTier(const rules::RuleFile& file, std::string_view name) {
  const auto& tiers = file.tiers;
  return tiers.empty() || std::find(tiers.begin(), tiers.end(), name) != tiers.end();
}

}  // namespace sluice::match
