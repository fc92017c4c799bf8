#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/flat_index.h"

namespace sluice::match {

/// Numbers by 64-bit hashes. What stands under another value with the same hash is found too, so
/// the finder must look twice.
class HashRanges {
 public:
  HashRanges() = default;
  /// Pairs of a hash and a number.
  explicit HashRanges(std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs);

  [[nodiscard]] std::span<const std::uint32_t> Find(std::uint64_t hash) const {
    const Place* const place =
        places_.Find(hash, [&](const Place& each) { return each.hash == hash; });
    if (place == nullptr) return {};
    return {numbers_.data() + place->begin, place->end - place->begin};
  }

 private:
  struct Place {
    std::uint64_t hash = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] bool empty() const { return begin == end; }
  };
  FlatIndex<Place> places_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace sluice::match
