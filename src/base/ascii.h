#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// ASCII letters and digits, independent of the locale.
namespace sluice {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";
inline constexpr std::string_view kHexCapitals = "0123456789ABCDEF";

[[nodiscard]] constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }

[[nodiscard]] constexpr bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

[[nodiscard]] constexpr bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

[[nodiscard]] constexpr char AsciiLower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}

[[nodiscard]] constexpr char AsciiUpper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c;
}

/// Returns a copy in lower case.
[[nodiscard]] inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = AsciiLower(c);
  return lower;
}

/// Returns a copy in upper case.
[[nodiscard]] inline std::string UpperCase(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = AsciiUpper(c);
  return upper;
}

/// Compares ASCII texts, ignoring case.
[[nodiscard]] constexpr bool EqualIgnoringCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (AsciiLower(a[i]) != AsciiLower(b[i])) return false;
  }
  return true;
}

/// Returns the value of a hexadecimal digit, or -1.
[[nodiscard]] constexpr int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Returns the byte encoded by the first two hexadecimal digits of `text`, or -1.
[[nodiscard]] constexpr int HexByte(std::string_view text) {
  if (text.size() < 2 || HexDigit(text[0]) < 0 || HexDigit(text[1]) < 0) return -1;
  return HexDigit(text[0]) * 16 + HexDigit(text[1]);
}

inline void AppendHex(char byte, std::string& out, std::string_view digits = kHexDigits) {
  const auto bits = static_cast<unsigned char>(byte);
  out += digits[bits >> 4];
  out += digits[bits & 15];
}

/// Returns the text without leading and trailing blanks and tabs.
[[nodiscard]] constexpr std::string_view TrimBlanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

}  // namespace sluice
