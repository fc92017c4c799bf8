#include "match/hash_ranges.h"

#include <algorithm>

namespace sluice::match {

HashRanges::HashRanges(std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs) {
  if (pairs.empty()) return;
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  places_ = FlatIndex<Place>(pairs.size());
  for (const auto& [hash, number] : pairs) {
    const auto has_hash = [wanted = hash](const Place& each) { return each.hash == wanted; };
    Place& place = places_.FindOrEmpty(hash, has_hash);
    if (place.empty()) {
      place = {.hash = hash,
               .begin = static_cast<std::uint32_t>(numbers_.size()),
               .end = static_cast<std::uint32_t>(numbers_.size())};
    }
    numbers_.push_back(number);
    ++place.end;  // Sorted, so those of one hash stand in a row.
  }
}

}  // namespace sluice::match
