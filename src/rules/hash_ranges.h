#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sluice::rules {

/// Numbers by 64-bit hashes. What stands under another value with the same hash is found too, so
/// the finder must look twice.
class HashRanges {
 public:
  HashRanges() = default;
  /// Pairs of a hash and a number.
  explicit HashRanges(std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs);

  [[nodiscard]] std::span<const std::uint32_t> Find(std::uint64_t hash) const {
    if (places_.empty()) return {};
    const std::size_t mask = places_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Place& place = places_[i];
      if (place.begin == place.end) return {};
      if (place.hash == hash) return {numbers_.data() + place.begin, place.end - place.begin};
    }
  }

 private:
  struct Place {
    std::uint64_t hash = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;  ///< Equal to `begin`: an empty place.
  };
  std::vector<Place> places_;
  std::vector<std::uint32_t> numbers_;
};

}  // namespace sluice::rules
