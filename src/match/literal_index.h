#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_index.h"

namespace sluice::match {

/// Text that a value must have, anywhere or only at one of its ends.
struct Literal {
  std::string text;
  bool at_begin = false;
  bool at_end = false;

  [[nodiscard]] bool In(std::string_view value) const {
    if (at_begin && at_end) return value == text;
    if (at_begin) return value.starts_with(text);
    if (at_end) return value.ends_with(text);
    return memmem(value.data(), value.size(), text.data(), text.size()) != nullptr;
  }
};

/// Which of many literals a value has, without looking at each: four bytes of every literal, the
/// rarest, are kept in a table, and the value's bytes are looked up there, four by four. A small
/// bitmap in front answers most of that.
///
/// Immutable, so any thread may look; allocates nothing then.
class LiteralIndex {
 public:
  static constexpr std::size_t kLeastBytes = 4;

  struct Wanted {
    Literal literal;  ///< Of at least kLeastBytes.
    std::uint32_t id = 0;
  };

  LiteralIndex() = default;
  explicit LiteralIndex(std::vector<Wanted> wanted);

  /// Calls `found` with the id of each literal that the value has; perhaps more than once.
  template <typename Found>
  void ForEach(std::string_view value, const Found& found) const {
    if (value.size() < kLeastBytes || entries_.empty()) return;
    const std::size_t end = std::min(value.size() - kLeastBytes + 1, scan_end_);
    for (std::size_t i = 0; i < end; ++i) {
      const std::uint32_t gram = GramAt(value.data() + i);
      const std::uint32_t hash = gram * kMultiplier;
      const std::uint32_t bit = hash >> bitmap_shift_;
      if ((bitmap_[bit >> 6] >> (bit & 63) & 1) == 0) continue;
      for (const Entry& entry : EntriesOf(gram, hash)) {
        if (!Holds(entry, value, i)) continue;
        for (std::uint32_t id = entry.ids_begin; id < entry.ids_end; ++id) found(ids_[id]);
      }
    }
  }

  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  static constexpr std::uint32_t kMultiplier = 0x9E3779B1;

  struct Entry {
    std::uint32_t gram = 0;
    std::uint32_t gram_at = 0;  ///< Where in the literal.
    std::uint32_t text_begin = 0;
    std::uint32_t text_size = 0;
    std::uint32_t ids_begin = 0;
    std::uint32_t ids_end = 0;
    bool at_begin = false;
    bool at_end = false;
  };
  struct Place {
    std::uint32_t gram = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    [[nodiscard]] bool empty() const { return end == 0; }
  };

  static std::uint32_t GramAt(const char* at) {
    std::uint32_t gram;
    std::memcpy(&gram, at, sizeof gram);
    return gram;
  }

  [[nodiscard]] std::span<const Entry> EntriesOf(std::uint32_t gram, std::uint32_t hash) const;
  [[nodiscard]] bool Holds(const Entry& entry, std::string_view value, std::size_t gram_at) const;
  void AddEntries(std::vector<Wanted>& wanted);
  void AddPlaces();

  std::string text_;
  std::vector<Entry> entries_;  ///< Entries with the same gram are adjacent.
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint64_t> bitmap_;
  FlatIndex<Place> places_;  ///< By gram.
  std::uint32_t bitmap_shift_ = 0;
  std::uint32_t places_shift_ = 0;
  std::size_t scan_end_ = 0;  ///< Where literals at the beginning only need no further look.
};

}  // namespace sluice::match
