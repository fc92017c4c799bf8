#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/ascii.h"
#include "base/text_hash.h"
#include "match/match_input.h"

/// How the index hashes values: the same way when it is built and when it is asked.
namespace sluice::match {

/// Without regard to case, for attributes where a rule asks for that. Of long values only the
/// beginning counts, which is enough for a hash.
inline std::uint64_t HashFolded(std::string_view value) {
  std::array<char, 32> folded;
  const std::size_t size = std::min(value.size(), folded.size());
  for (std::size_t i = 0; i < size; ++i) {
    folded[i] = AsciiLower(value[i]);
  }
  return HashText({folded.data(), size}, value.size());
}

/// Values of several attributes together: begin with 0 and add one attribute after the other.
inline std::uint64_t AddToHash(std::uint64_t hash, Slot slot, std::uint64_t value_hash) {
  return MixHash(hash ^ value_hash, 0xA0761D6478BD642F + 2 * std::uint64_t{slot});
}

}  // namespace sluice::match
