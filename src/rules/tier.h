#pragma once

#include <algorithm>
#include <string_view>

#include "rules/model.h"

namespace sluice::rules {

/// A file that names tiers knows no others: whoever makes one up must not slip past their limits.
[[nodiscard]] inline bool IsTier(const RuleFile& file, std::string_view name) {
  const auto& tiers = file.tiers;
  return tiers.empty() || std::find(tiers.begin(), tiers.end(), name) != tiers.end();
}

}  // namespace sluice::rules
