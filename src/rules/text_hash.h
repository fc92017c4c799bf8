#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice::rules {

/// Both halves of a 128-bit product, folded: every bit of the result depends on all of both.
inline std::uint64_t MixHash(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// A fast hash for tables that are filled once from a rule file: callers can't put anything into
/// them, so it needs no secret.
inline std::uint64_t HashText(std::string_view text, std::uint64_t seed = 0) {
  constexpr std::uint64_t kFirst = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kSecond = 0xC2B2AE3D27D4EB4F;
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = seed ^ (left * kFirst);
  for (; left > 8; left -= 8, at += 8) {
    std::uint64_t word;
    std::memcpy(&word, at, 8);
    hash = MixHash(hash ^ word, kSecond);
  }
  std::uint64_t tail = 0;
  if (left >= 4) {
    // Two reads that overlap in the middle.
    std::uint32_t front;
    std::uint32_t back;
    std::memcpy(&front, at, 4);
    std::memcpy(&back, at + left - 4, 4);
    tail = std::uint64_t{front} << 32 | back;
  } else if (left > 0) {
    const auto byte = [&](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(at[i])};
    };
    tail = byte(0) << 16 | byte(left / 2) << 8 | byte(left - 1);
  }
  return MixHash(hash ^ tail ^ kFirst, kSecond);
}

}  // namespace sluice::rules
