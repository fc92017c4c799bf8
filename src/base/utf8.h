#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// UTF-8 as in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
namespace sluice {

/// U+FFFD.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// Returns the size in bytes of the character at the front of `text`; 0 if it is not UTF-8.
[[nodiscard]] std::size_t Utf8Size(std::string_view text);

[[nodiscard]] bool IsUtf8(std::string_view text);

/// Appends `text` with U+FFFD for each byte that is not UTF-8.
void AppendAsUtf8(std::string_view text, std::string& out);

/// Appends a code point up to U+10FFFF.
void AppendCodePoint(std::uint32_t point, std::string& out);

}  // namespace sluice
