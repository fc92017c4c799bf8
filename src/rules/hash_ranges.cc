#include "rules/hash_ranges.h"

#include <algorithm>
#include <bit>

namespace sluice::rules {

HashRanges::HashRanges(std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs) {
  if (pairs.empty()) return;
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  places_.resize(std::bit_ceil(pairs.size() * 2));
  const std::size_t mask = places_.size() - 1;
  for (const auto& [hash, number] : pairs) {
    std::size_t i = hash & mask;
    while (places_[i].begin != places_[i].end && places_[i].hash != hash) i = (i + 1) & mask;
    Place& place = places_[i];
    if (place.begin == place.end) {
      place = {.hash = hash,
               .begin = static_cast<std::uint32_t>(numbers_.size()),
               .end = static_cast<std::uint32_t>(numbers_.size())};
    }
    numbers_.push_back(number);
    ++place.end;  // Sorted, so those of one hash stand in a row.
  }
}

}  // namespace sluice::rules
