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
  const std::size_t before = out.size();
  out.resize(before + (bytes.size() * 4 + 2) / 3);
  char* at = out.data() + before;
  const auto byte = [&bytes](std::size_t i) {
    return std::uint32_t{static_cast<unsigned char>(bytes[i])};
  };
  const auto put = [&at](std::uint32_t bits, int digits) {
    for (int shift = 18; digits > 0; --digits, shift -= 6) *at++ = kAlphabet[bits >> shift & 63];
  };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) put(byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2), 4);
  if (bytes.size() - i == 1) put(byte(i) << 16, 2);
  if (bytes.size() - i == 2) put(byte(i) << 16 | byte(i + 1) << 8, 3);
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
