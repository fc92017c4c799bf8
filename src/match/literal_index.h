#pragma once

#include <algorithm>
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
  bool ignore_case = false;  ///< Of ASCII letters; for an index only.

  [[nodiscard]] bool In(std::string_view value) const {
    if (at_begin && at_end) return value == text;
    if (at_begin) return value.starts_with(text);
    if (at_end) return value.ends_with(text);
    return memmem(value.data(), value.size(), text.data(), text.size()) != nullptr;
  }
};

/// Which of many literals a value has, without looking at each: four bytes of every literal, the
/// rarest, are kept in a table, and the value's bytes are looked up there, four by four. A small
/// bitmap in front answers most of that. Shorter literals must be at an end of the value; they are
/// looked up by the bytes there.
///
/// An index that folds treats all bytes as if bit 5 were set, which makes ASCII letters equal to
/// their other case: it may find literals that the value only resembles.
///
/// Immutable, so any thread may look; allocates nothing then.
class LiteralIndex {
 public:
  static constexpr std::size_t kLeastBytes = 4;
  enum class Case : std::uint8_t { kExact, kFolds };

  struct Wanted {
    Literal literal;  ///< CanHold.
    std::uint32_t id = 0;
  };
  [[nodiscard]] static bool CanHold(const Literal& literal) {
    return literal.text.size() >= kLeastBytes ||
           (!literal.text.empty() && (literal.at_begin || literal.at_end));
  }

  LiteralIndex() = default;
  explicit LiteralIndex(std::vector<Wanted> wanted, Case letters = Case::kExact);

  /// Calls `found` with the id of each literal that the value has; perhaps more than once.
  template <typename Found>
  void ForEach(std::string_view value, const Found& found) const {
    if (edge_sizes_ != 0) ForEachAtEnds(value, found);
    if (value.size() < kLeastBytes || entries_.empty()) return;
    const std::size_t end = std::min(value.size() - kLeastBytes + 1, scan_end_);
    for (std::size_t i = 0; i < end; ++i) {
      const std::uint32_t gram = GramAt(value.data() + i) | fold_;
      const std::uint32_t hash = gram * kMultiplier;
      const std::uint32_t bit = hash >> bitmap_shift_;
      if ((bitmap_[bit >> 6] >> (bit & 63) & 1) == 0) continue;
      for (const Entry& entry : EntriesOf(gram, hash)) {
        if (!Holds(entry, value, i)) continue;
        for (std::uint32_t id = entry.ids_begin; id < entry.ids_end; ++id) found(ids_[id]);
      }
    }
  }

  [[nodiscard]] bool empty() const { return entries_.empty() && edge_sizes_ == 0; }

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

  /// A short literal at an end of the value.
  struct Edge {
    std::uint32_t key = 0;  ///< EdgeKey
    std::uint32_t ids_begin = 0;
    std::uint32_t ids_end = 0;
    bool whole = false;  ///< At both ends.
  };
  static constexpr std::uint32_t kAtEnd = 1U << 26;

  /// Up to three bytes, their number, and which end.
  [[nodiscard]] std::uint32_t EdgeKey(std::string_view bytes, bool at_end) const {
    std::uint32_t key = static_cast<std::uint32_t>(bytes.size()) << 24 | (at_end ? kAtEnd : 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i] | static_cast<char>(fold_ & 0xFF));
      key |= std::uint32_t{byte} << (8 * i);
    }
    return key;
  }

  template <typename Found>
  void ForEachAtEnds(std::string_view value, const Found& found) const {
    for (std::size_t size = 1; size < kLeastBytes && size <= value.size(); ++size) {
      for (const bool at_end : {false, true}) {
        if ((edge_sizes_ >> (2 * size + (at_end ? 1 : 0)) & 1) == 0) continue;
        const std::string_view bytes =
            at_end ? value.substr(value.size() - size) : value.substr(0, size);
        const std::uint32_t key = EdgeKey(bytes, at_end);
        auto edge = std::lower_bound(
            edges_.begin(), edges_.end(), key,
            [](const Edge& each, std::uint32_t wanted) { return each.key < wanted; });
        for (; edge != edges_.end() && edge->key == key; ++edge) {
          if (edge->whole && value.size() != size) continue;
          for (std::uint32_t id = edge->ids_begin; id < edge->ids_end; ++id) found(ids_[id]);
        }
      }
    }
  }

  static std::uint32_t GramAt(const char* at) {
    std::uint32_t gram;
    std::memcpy(&gram, at, sizeof gram);
    return gram;
  }

  [[nodiscard]] std::span<const Entry> EntriesOf(std::uint32_t gram, std::uint32_t hash) const;
  [[nodiscard]] bool Holds(const Entry& entry, std::string_view value, std::size_t gram_at) const;
  void AddEntries(const std::vector<Wanted>& wanted);
  void AddEdges(const std::vector<Wanted>& wanted);
  void AddPlaces();

  std::string text_;
  std::vector<Entry> entries_;  ///< Entries with the same gram are adjacent.
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint64_t> bitmap_;
  FlatIndex<Place> places_;  ///< By gram.
  std::uint32_t bitmap_shift_ = 0;
  std::uint32_t places_shift_ = 0;
  std::size_t scan_end_ = 0;      ///< Where literals at the beginning only need no further look.
  std::vector<Edge> edges_;       ///< By key.
  std::uint32_t edge_sizes_ = 0;  ///< Bit 2 · size + at_end: there are such edges.
  std::uint32_t fold_ = 0;        ///< 0x20 in every byte if it folds.
};

}  // namespace sluice::match
