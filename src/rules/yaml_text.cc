#include "rules/yaml_text.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

namespace sluice::rules {
namespace {

std::uint8_t ByteAt(std::string_view text, std::size_t i) {
  return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
}

bool IsContinuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// How long the character at `i` is; 0 if there is none: cut short, overlong, a surrogate, or
// beyond U+10FFFF.
std::size_t CharacterLength(std::string_view text, std::size_t i) {
  const std::uint8_t lead = ByteAt(text, i);
  const std::uint8_t second = ByteAt(text, i + 1);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4 || !IsContinuation(second)) return 0;
  if (lead < 0xE0) return 2;
  if (!IsContinuation(ByteAt(text, i + 2))) return 0;
  if (lead < 0xF0) {
    const bool overlong = lead == 0xE0 && second < 0xA0;
    const bool surrogate = lead == 0xED && second >= 0xA0;
    return overlong || surrogate ? 0 : 3;
  }
  if (!IsContinuation(ByteAt(text, i + 3))) return 0;
  const bool overlong = lead == 0xF0 && second < 0x90;
  const bool beyond = lead == 0xF4 && second >= 0x90;
  return overlong || beyond ? 0 : 4;
}

bool IsControl(std::uint8_t byte) {
  return (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
}

YamlError ProblemAt(std::string_view text, std::size_t i, const char* what) {
  const std::string_view before = text.substr(0, i);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0.
  char found[8];
  std::snprintf(found, sizeof found, "0x%02X", ByteAt(text, i));
  return {{static_cast<int>(line), static_cast<int>(i - line_begin) + 1},
          std::string("found the byte ") + found + ", which is " + what};
}

}  // namespace

std::optional<YamlError> FindTextProblem(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    if (IsControl(ByteAt(text, i))) {
      return ProblemAt(text, i, "a control character; rule files are plain text in UTF-8");
    }
    const std::size_t length = CharacterLength(text, i);
    if (length == 0) return ProblemAt(text, i, "not UTF-8; rule files are plain text in UTF-8");
    i += length;
  }
  return std::nullopt;
}

}  // namespace sluice::rules
