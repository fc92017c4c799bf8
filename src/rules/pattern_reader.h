#pragma once

#include <optional>

#include "rules/model.h"
#include "rules/reading.h"

namespace sluice::rules {

/// Each reads one pattern, and says what is wrong if it is none.

/// A glob if it has '*' or '?', else the value itself.
std::optional<Pattern> ReadValue(Reading& reading, const Field& field);
std::optional<Pattern> ReadExact(Reading& reading, const Field& field);
std::optional<Pattern> ReadGlob(Reading& reading, const Field& field);
std::optional<Pattern> ReadRegex(Reading& reading, const Field& field);
std::optional<Pattern> ReadNetwork(Reading& reading, const Field& field);
/// An entry of a list: a network if it looks like one, else an API key.
std::optional<Pattern> ReadListEntry(Reading& reading, const Field& field);

}  // namespace sluice::rules
