#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

/// A hash table with open addressing for tables that are filled once and then only read: any thread
/// may read it then. Its owner says what a `Place` is (default-constructed it is empty(), and it
/// is no longer when something lies there), how it is hashed, and which one is meant. At most half
/// full, so that a search is short.
template <typename Place>
class FlatIndex {
 public:
  FlatIndex() = default;
  /// With room for so many.
  explicit FlatIndex(std::size_t count) : places_(std::bit_ceil(count * 2 + 2)) {}

  /// The place that `is_it`; null if there is none.
  template <typename IsIt>
  [[nodiscard]] const Place* Find(std::uint64_t hash, const IsIt& is_it) const {
    if (places_.empty()) return nullptr;
    const std::size_t mask = places_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Place& place = places_[i];
      if (place.empty()) return nullptr;
      if (is_it(place)) return &place;
    }
  }

  /// The place that `is_it`, or the empty one where it belongs. Only if there is room for it.
  template <typename IsIt>
  [[nodiscard]] Place& FindOrEmpty(std::uint64_t hash, const IsIt& is_it) {
    const std::size_t mask = places_.size() - 1;
    std::size_t i = hash & mask;
    while (!places_[i].empty() && !is_it(places_[i])) i = (i + 1) & mask;
    return places_[i];
  }

  /// An empty place for something that is not there yet.
  [[nodiscard]] Place& Empty(std::uint64_t hash) {
    return FindOrEmpty(hash, [](const Place&) { return false; });
  }

  /// Makes room for `count` in all.
  template <typename HashOf>
  void GrowFor(std::size_t count, const HashOf& hash_of) {
    if (count * 2 <= places_.size()) return;
    std::vector<Place> old(std::bit_ceil(count * 4));
    old.swap(places_);
    for (Place& place : old) {
      if (!place.empty()) Empty(hash_of(place)) = std::move(place);
    }
  }

 private:
  std::vector<Place> places_;  ///< Their number is a power of two.
};

}  // namespace sluice
