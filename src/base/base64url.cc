#include "base/base64url.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace sluice {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNone = 0xFF;

constexpr std::array<std::uint8_t, 256> kValues = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

}  // namespace

void AppendBase64Url(std::string_view bytes, std::string& out) {
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out += kAlphabet[bits >> (held - 6) & 63];
  }
  if (held > 0) out += kAlphabet[bits << (6 - held) & 63];
}

bool DecodeBase64Url(std::string_view text, std::string& out) {
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(c)];
    if (value == kNone) return false;
    bits = (bits << 6 | value) & 0xFFFF;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out.push_back(static_cast<char>(bits >> held & 0xFF));
  }
  return held < 6 && (bits & ((1U << held) - 1)) == 0;
}

}  // namespace sluice
