#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

/// A hash table with open addressing that is filled once and then only read, from any thread. The
/// owner supplies the `Slot` type (empty() if and only if default-constructed), the hashes and the
/// comparison. At most half full, so that probe sequences are short.
template <typename Slot>
class FlatIndex {
 public:
  FlatIndex() = default;
  /// Reserves slots for `count` elements.
  explicit FlatIndex(std::size_t count) : slots_(std::bit_ceil(count * 2 + 2)) {}

  /// Returns the slot for which `matches` is true, or null.
  template <typename Matches>
  [[nodiscard]] const Slot* Find(std::uint64_t hash, const Matches& matches) const {
    if (slots_.empty()) return nullptr;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      if (slot.empty()) return nullptr;
      if (matches(slot)) return &slot;
    }
  }

  /// Returns the slot for which `matches` is true, or the empty slot for it. Precondition: there is
  /// an empty slot.
  template <typename Matches>
  [[nodiscard]] Slot& FindOrEmpty(std::uint64_t hash, const Matches& matches) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = hash & mask;
    while (!slots_[i].empty() && !matches(slots_[i])) i = (i + 1) & mask;
    return slots_[i];
  }

  /// Returns an empty slot for an element that is absent.
  [[nodiscard]] Slot& Empty(std::uint64_t hash) {
    return FindOrEmpty(hash, [](const Slot&) { return false; });
  }

  /// Grows to hold `count` elements in total.
  template <typename HashOf>
  void GrowFor(std::size_t count, const HashOf& hash_of) {
    if (count * 2 <= slots_.size()) return;
    std::vector<Slot> old(std::bit_ceil(count * 4));
    old.swap(slots_);
    for (Slot& slot : old) {
      if (!slot.empty()) Empty(hash_of(slot)) = std::move(slot);
    }
  }

 private:
  std::vector<Slot> slots_;  ///< Its size is a power of two.
};

}  // namespace sluice
