#include "base/utf8.h"

namespace sluice {
namespace {

// Overlong forms, surrogates and code points above U+10FFFF show in the second byte.
bool SecondByteFits(unsigned char first, unsigned char second) {
  const int low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const int high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

}  // namespace

std::size_t Utf8Size(std::string_view text) {
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
    const std::size_t size = Utf8Size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

void AppendAsUtf8(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const std::size_t size = Utf8Size(text);
    out += size == 0 ? kReplacementCharacter : text.substr(0, size);
    text.remove_prefix(size == 0 ? 1 : size);
  }
}

void AppendCodePoint(std::uint32_t point, std::string& out) {
  const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) {
    put(0xC0 | point >> 6);
  } else {
    if (point < 0x10000) {
      put(0xE0 | point >> 12);
    } else {
      put(0xF0 | point >> 18);
      put(0x80 | (point >> 12 & 0x3F));
    }
    put(0x80 | (point >> 6 & 0x3F));
  }
  put(0x80 | (point & 0x3F));
}

}  // namespace sluice
