#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// Hashes two texts; the result is the same on every machine and in every build. It has no secret
/// and is predictable by clients: don't use it for hash tables. FNV-1a over both texts, separated
/// by a byte that is not in UTF-8, then the finalizer of MurmurHash3.
[[nodiscard]] inline std::uint64_t StableHash(std::string_view first, std::string_view second) {
  std::uint64_t hash = 0xCBF29CE484222325;
  const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001B3; };
  for (const char c : first) add(static_cast<unsigned char>(c));
  add(0xFF);
  for (const char c : second) add(static_cast<unsigned char>(c));
  hash = (hash ^ (hash >> 33)) * 0xFF51AFD7ED558CCD;
  hash = (hash ^ (hash >> 33)) * 0xC4CEB9FE1A85EC53;
  return hash ^ (hash >> 33);
}

}  // namespace sluice
