#pragma once

#include <optional>

#include "config_text/reading.h"
#include "rules/model.h"

namespace sluice::rules {

/// Each reads one pattern, and says what is wrong if it is none.

/// A glob if it has '*' or '?', else the value itself.
std::optional<Pattern> ReadValue(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadExact(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadGlob(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadRegex(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadNetwork(config_text::Reading& reading, const config_text::Field& field);
/// The same for hosts, which rules see as `NormalizeHost` writes them: letters of either case
/// match, and a pattern that asks for a port or a dot at the end is refused, since it never could.
std::optional<Pattern> ReadHost(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadHostExact(config_text::Reading& reading,
                                     const config_text::Field& field);
std::optional<Pattern> ReadHostGlob(config_text::Reading& reading, const config_text::Field& field);
std::optional<Pattern> ReadHostRegex(config_text::Reading& reading,
                                     const config_text::Field& field);
/// An entry of a list: a network if it looks like one, else an API key.
std::optional<Pattern> ReadListEntry(config_text::Reading& reading,
                                     const config_text::Field& field);

}  // namespace sluice::rules
