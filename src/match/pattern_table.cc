#include "match/pattern_table.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/network.h"
#include "base/text_hash.h"

namespace sluice::match {
namespace {

std::uint32_t ShortHash(std::string_view text) {
  return static_cast<std::uint32_t>(HashText(text) >> 32);
}

}  // namespace

TextTable::TextTable(std::vector<Entry> entries)
    : entries_(std::move(entries)), places_(entries_.size()) {
  for (std::uint32_t e = 0; e < entries_.size(); ++e) {
    const std::uint32_t hash = ShortHash(entries_[e].text);
    Place& place = places_.FindOrEmpty(
        hash, [&](const Place& each) { return entries_[each.entry].text == entries_[e].text; });
    if (place.empty()) place = {.hash = hash, .entry = e};
  }
}

std::uint32_t TextTable::Find(std::string_view text) const {
  if (entries_.empty()) return kNone;
  const std::uint32_t hash = ShortHash(text);
  const Place* const place = places_.Find(hash, [&](const Place& each) {
    return each.hash == hash && entries_[each.entry].text == text;
  });
  return place == nullptr ? kNone : entries_[place->entry].number;
}

PatternTable::PatternTable(std::span<const rules::Pattern* const> patterns) {
  std::vector<TextTable::Entry> exact;
  std::vector<LiteralIndex::Wanted> wanted;
  for (std::uint32_t i = 0; i < patterns.size(); ++i) {
    const rules::Pattern& pattern = *patterns[i];
    if (pattern.kind == rules::PatternKind::kExact) exact.push_back({pattern.text, i});
    if (pattern.kind != rules::PatternKind::kGlob) continue;
    rules::Glob glob = rules::Glob::Compile(pattern.text).value();
    const auto place = static_cast<std::uint32_t>(globs_.size());
    // Of the texts that must be there the longest says most.
    const auto literals = glob.Literals();
    const auto longest = std::max_element(
        literals.begin(), literals.end(),
        [](const auto& a, const auto& b) { return a.text.size() < b.text.size(); });
    Literal literal;
    if (longest != literals.end()) {
      literal = {std::string(longest->text), longest->at_begin, longest->at_end};
    }
    if (LiteralIndex::CanHold(literal)) {
      wanted.push_back({std::move(literal), place});
    } else {
      others_.push_back(place);
    }
    globs_.push_back({std::move(glob), i});
  }
  exact_ = TextTable(std::move(exact));
  literals_ = LiteralIndex(std::move(wanted));
}

std::uint32_t PatternTable::Find(std::string_view value) const {
  const std::uint32_t exact = exact_.Find(value);
  if (exact != kNone) return exact;
  auto best = static_cast<std::uint32_t>(globs_.size());
  literals_.ForEach(value, [&](std::uint32_t place) {
    if (place < best && globs_[place].glob.Matches(value)) best = place;
  });
  for (const std::uint32_t place : others_) {
    if (place >= best) break;
    if (globs_[place].glob.Matches(value)) best = place;
  }
  return best == globs_.size() ? kNone : globs_[best].number;
}

std::string CanonicalAddressText(std::string_view text) {
  const auto address = ParseAddress(text);
  if (!address) return std::string(text);
  std::array<char, kMaxAddressText> out;
  return std::string(FormatAddress(*address, out));
}

}  // namespace sluice::match
