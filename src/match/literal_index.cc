#include "match/literal_index.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <unordered_map>

namespace sluice::match {
namespace {

auto Order(const Literal& literal) {
  return std::tie(literal.text, literal.at_begin, literal.at_end);
}

// The shift that leaves `size` (a power of two) values of a 32-bit hash.
std::uint32_t ShiftFor(std::size_t size) {
  return 32 - static_cast<std::uint32_t>(std::countr_zero(size));
}

}  // namespace

LiteralIndex::LiteralIndex(std::vector<Wanted> wanted, Case letters) {
  if (wanted.empty()) return;
  if (letters == Case::kFolds) {
    fold_ = 0x20202020;
    for (Wanted& each : wanted) {
      for (char& c : each.literal.text) c = static_cast<char>(c | 0x20);
    }
  }
  std::sort(wanted.begin(), wanted.end(), [](const Wanted& a, const Wanted& b) {
    return std::tuple(Order(a.literal), a.id) < std::tuple(Order(b.literal), b.id);
  });
  const auto shorter = std::stable_partition(wanted.begin(), wanted.end(), [](const Wanted& each) {
    return each.literal.text.size() >= kLeastBytes;
  });
  AddEdges({shorter, wanted.end()});
  wanted.erase(shorter, wanted.end());
  if (wanted.empty()) return;
  AddEntries(wanted);
  AddPlaces();
}

void LiteralIndex::AddEdges(const std::vector<Wanted>& wanted) {
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    const Literal& literal = wanted[w].literal;
    if (w == 0 || Order(literal) != Order(wanted[w - 1].literal)) {
      const bool at_end = !literal.at_begin;
      edges_.push_back({.key = EdgeKey(literal.text, at_end),
                        .ids_begin = static_cast<std::uint32_t>(ids_.size()),
                        .whole = literal.at_begin && literal.at_end});
      edge_sizes_ |= 1U << (2 * literal.text.size() + (at_end ? 1 : 0));
    }
    ids_.push_back(wanted[w].id);
    edges_.back().ids_end = static_cast<std::uint32_t>(ids_.size());
  }
  std::sort(edges_.begin(), edges_.end(),
            [](const Edge& a, const Edge& b) { return a.key < b.key; });
}

void LiteralIndex::AddEntries(const std::vector<Wanted>& wanted) {
  std::unordered_map<std::uint32_t, std::uint32_t> count;
  const auto same = [&](std::size_t i) {
    return i > 0 && Order(wanted[i].literal) == Order(wanted[i - 1].literal);
  };
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    if (same(w)) continue;
    const std::string& text = wanted[w].literal.text;
    for (std::size_t i = 0; i + kLeastBytes <= text.size(); ++i) ++count[GramAt(&text[i])];
  }
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    if (!same(w)) {
      const Literal& literal = wanted[w].literal;
      std::size_t rarest = 0;
      for (std::size_t i = 1; i + kLeastBytes <= literal.text.size(); ++i) {
        if (count[GramAt(&literal.text[i])] < count[GramAt(&literal.text[rarest])]) rarest = i;
      }
      entries_.push_back({.gram = GramAt(&literal.text[rarest]),
                          .gram_at = static_cast<std::uint32_t>(rarest),
                          .text_begin = static_cast<std::uint32_t>(text_.size()),
                          .text_size = static_cast<std::uint32_t>(literal.text.size()),
                          .ids_begin = static_cast<std::uint32_t>(ids_.size()),
                          .at_begin = literal.at_begin,
                          .at_end = literal.at_end});
      text_ += literal.text;
      const std::size_t end =
          literal.at_begin ? rarest + 1 : std::numeric_limits<std::size_t>::max();
      scan_end_ = std::max(scan_end_, end);
    }
    ids_.push_back(wanted[w].id);
    entries_.back().ids_end = static_cast<std::uint32_t>(ids_.size());
  }
}

void LiteralIndex::AddPlaces() {
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.gram < b.gram; });
  // At 16 bits for each, about one in 16 positions of a value is looked up in vain.
  const std::size_t bits = std::bit_ceil(std::max<std::size_t>(entries_.size() * 16, 64));
  bitmap_.resize(bits / 64);
  bitmap_shift_ = ShiftFor(bits);
  places_ = FlatIndex<Place>(entries_.size());
  places_shift_ = ShiftFor(std::bit_ceil(entries_.size() * 2));
  for (std::uint32_t begin = 0; begin < entries_.size();) {
    const std::uint32_t gram = entries_[begin].gram;
    std::uint32_t end = begin;
    while (end < entries_.size() && entries_[end].gram == gram) ++end;
    const std::uint32_t hash = gram * kMultiplier;
    const std::uint32_t bit = hash >> bitmap_shift_;
    bitmap_[bit >> 6] |= std::uint64_t{1} << (bit & 63);
    places_.Empty(hash >> places_shift_) = {.gram = gram, .begin = begin, .end = end};
    begin = end;
  }
}

std::span<const LiteralIndex::Entry> LiteralIndex::EntriesOf(std::uint32_t gram,
                                                             std::uint32_t hash) const {
  const Place* const place =
      places_.Find(hash >> places_shift_, [gram](const Place& each) { return each.gram == gram; });
  if (place == nullptr) return {};
  return {entries_.data() + place->begin, entries_.data() + place->end};
}

bool LiteralIndex::Holds(const Entry& entry, std::string_view value, std::size_t gram_at) const {
  if (gram_at < entry.gram_at) return false;
  const std::size_t begin = gram_at - entry.gram_at;
  if (entry.at_begin && begin != 0) return false;
  if (begin + entry.text_size > value.size()) return false;
  if (entry.at_end && begin + entry.text_size != value.size()) return false;
  const char* const text = text_.data() + entry.text_begin;
  if (fold_ == 0) return std::memcmp(value.data() + begin, text, entry.text_size) == 0;
  return std::equal(text, text + entry.text_size, value.data() + begin,
                    [](char folded, char c) { return static_cast<char>(c | 0x20) == folded; });
}

}  // namespace sluice::match
