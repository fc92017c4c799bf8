#pragma once

#include <cstdint>
#include <string_view>

namespace sluice {

/// The hash of two texts that never changes: the same on every machine, in every build. It has no
/// secret, so callers may know theirs; don't index tables by it. FNV-1a over both, with a byte
/// between that no UTF-8 text has, then the finalizer of MurmurHash3.
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
