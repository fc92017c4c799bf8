#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::telemetry {

/// How many bytes the character at the front of `text` has; 0 if it is not UTF-8.
[[nodiscard]] std::size_t CharacterSize(std::string_view text);

[[nodiscard]] bool IsUtf8(std::string_view text);

/// Appends `text` with U+FFFD for each byte that is not UTF-8.
void AppendUtf8(std::string_view text, std::string& out);

/// Appends `text` as it stands between the quotes of a JSON string. What is not UTF-8 becomes
/// U+FFFD.
void AppendJsonEscaped(std::string_view text, std::string& out);

}  // namespace sluice::telemetry
