#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sluice {

/// Folds the 128-bit product of two numbers; every bit of the result depends on all bits of both.
inline std::uint64_t MixHash(std::uint64_t a, std::uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = Product{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Packs a text of at most eight bytes into a number; injective for texts of the same length.
inline std::uint64_t PackShort(std::string_view text) {
  const char* at = text.data();
  const std::size_t size = text.size();
  if (size >= 4) {
    // Two reads that may overlap in the middle.
    std::uint32_t front;
    std::uint32_t back;
    std::memcpy(&front, at, 4);
    std::memcpy(&back, at + size - 4, 4);
    return std::uint64_t{front} << 32 | back;
  }
  if (size == 0) return 0;
  const auto byte = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
  return byte(0) << 16 | byte(size / 2) << 8 | byte(size - 1);
}

/// A fast hash for tables that are filled from a rule file. Clients can't add entries, so it needs
/// no secret.
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
  return MixHash(hash ^ PackShort({at, left}) ^ kFirst, kSecond);
}

}  // namespace sluice
