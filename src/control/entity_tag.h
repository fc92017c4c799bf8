#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "control/version.h"

namespace sluice::control {

/// Returns whether the header If-Match allows a change of this version: it lists its entity tag, or
/// is "*". Weak tags never match.
[[nodiscard]] bool MatchesTag(std::string_view if_match, const VersionRef& version);
/// The same for anything with an entity tag. `tag` has its quotes.
[[nodiscard]] bool MatchesTag(std::string_view if_match, std::string_view tag);

/// Returns the entity tag of a record that was written with this number at this time.
[[nodiscard]] std::string RecordTag(std::uint64_t sequence, WallTime time);

/// Returns the first version that an entity tag in the header names; number 0: none.
[[nodiscard]] VersionId NamedVersion(std::string_view if_match);

}  // namespace sluice::control
