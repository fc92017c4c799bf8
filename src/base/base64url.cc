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
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  const char* const alphabet = kAlphabet.data();
  std::size_t left = bytes.size();
  for (; left >= 3; left -= 3, from += 3, at += 4) {
    const std::uint32_t bits = std::uint32_t{from[0]} << 16 | std::uint32_t{from[1]} << 8 | from[2];
    at[0] = alphabet[bits >> 18];
    at[1] = alphabet[bits >> 12 & 63];
    at[2] = alphabet[bits >> 6 & 63];
    at[3] = alphabet[bits & 63];
  }
  if (left == 0) return;
  const std::uint32_t bits =
      std::uint32_t{from[0]} << 16 | (left == 2 ? std::uint32_t{from[1]} << 8 : 0U);
  at[0] = alphabet[bits >> 18];
  at[1] = alphabet[bits >> 12 & 63];
  if (left == 2) at[2] = alphabet[bits >> 6 & 63];
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
