#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/text_hash.h"
#include "rules/call.h"

/// How the index hashes values: the same way when it is built and when it is asked.
namespace sluice::rules {

/// Without regard to case, for attributes where a rule asks for that. Of long values only the
/// beginning counts, which is enough for a hash.
inline std::uint64_t HashFolded(std::string_view value) {
  std::array<char, 32> folded;
  const std::size_t size = std::min(value.size(), folded.size());
  for (std::size_t i = 0; i < size; ++i) {
    const char c = value[i];
    folded[i] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return HashText({folded.data(), size}, value.size());
}

/// Values of several attributes together: begin with 0 and add one attribute after the other.
inline std::uint64_t AddToHash(std::uint64_t hash, Slot slot, std::uint64_t value_hash) {
  return MixHash(hash ^ value_hash, 0xA0761D6478BD642F + 2 * std::uint64_t{slot});
}

}  // namespace sluice::rules
