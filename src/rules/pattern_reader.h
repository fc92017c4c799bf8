#pragma once

#include <optional>

#include "config_text/reading.h"
#include "rules/model.h"

namespace sluice::rules {

/// Each reads one pattern, or reports an error and returns nothing.

/// A glob if it contains '*' or '?', else an exact value.
std::optional<Pattern> ReadValue(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadExact(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadGlob(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadRegex(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadNetwork(config_text::Reading& reading, const config_text::Field& field);
/// The same for hosts, which are matched in the form of `NormalizeHost`: case is ignored, and a
/// pattern with a port or a trailing dot is an error, because it could never match.
std::optional<Pattern> ReadHost(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadHostExact(config_text::Reading& reading,
                                     const config_text::Field& field);
std::optional<Pattern> ReadHostGlob(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadHostRegex(config_text::Reading& reading,
                                     const config_text::Field& field);
/// An entry of `allow` or `deny`: a network if it looks like one, else an API key.
std::optional<Pattern> ReadListEntry(config_text::Reading& reading,
                                     const config_text::Field& field);

}  // namespace sluice::rules
