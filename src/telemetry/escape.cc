#include "telemetry/escape.h"

namespace sluice::telemetry {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// What the second byte of a character may be, which is where overlong forms, surrogates and numbers
// above U+10FFFF show.
bool SecondByteFits(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0 && second <= 0xBF;
    case 0xED:
      return second >= 0x80 && second <= 0x9F;
    case 0xF0:
      return second >= 0x90 && second <= 0xBF;
    case 0xF4:
      return second >= 0x80 && second <= 0x8F;
    default:
      return second >= 0x80 && second <= 0xBF;
  }
}

// Appends the characters one by one as `append` does.
template <typename Append>
void ForEachCharacter(std::string_view text, const Append& append) {
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    append(size == 0 ? kReplacement : text.substr(0, size));
    text.remove_prefix(size == 0 ? 1 : size);
  }
}

}  // namespace

std::size_t CharacterSize(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < size || !SecondByteFits(first, static_cast<unsigned char>(text[1]))) return 0;
  for (std::size_t i = 2; i < size; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  return size;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = CharacterSize(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void AppendUtf8(std::string_view text, std::string& out) {
  ForEachCharacter(text, [&](std::string_view character) { out += character; });
}

void AppendJsonEscaped(std::string_view text, std::string& out) {
  ForEachCharacter(text, [&](std::string_view character) {
    const auto first = static_cast<unsigned char>(character[0]);
    if (first == '"' || first == '\\') {
      out += '\\';
      out += character;
    } else if (first == '\n') {
      out += "\\n";
    } else if (first < 0x20 || first == 0x7F) {  // The latter means something to terminals.
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += "\\u00";
      out += kDigits[first >> 4];
      out += kDigits[first & 15];
    } else {
      out += character;
    }
  });
}

}  // namespace sluice::telemetry
