#pragma once

#include <string_view>

#include "control/version.h"

namespace sluice::control {

/// Returns whether the header If-Match allows a change of this version: it lists its entity tag, or
/// is "*". Weak tags never match.
[[nodiscard]] bool MatchesTag(std::string_view if_match, const VersionRef& version);

/// Returns the first version that an entity tag in the header names; number 0: none.
[[nodiscard]] VersionId NamedVersion(std::string_view if_match);

}  // namespace sluice::control
