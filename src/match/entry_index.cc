#include "match/entry_index.h"

#include <algorithm>
#include <utility>

#include "base/text_hash.h"
#include "match/value_hash.h"

namespace sluice::match {
namespace {

using rules::PatternKind;

std::uint32_t UpperHalf(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

}  // namespace

EntryIndex::EntryIndex(Entries entries, Slots& slots, std::uint64_t seed)
    : entries_(std::move(entries)), candidates_(entries_.size()), places_(entries_.size()) {
  std::vector<Network> networks;
  for (std::uint32_t i = 0; i < entries_.size(); ++i) Prepare(i, slots, seed, networks);
  networks_ = NetworkTable(networks);
  IndexGlobs();
}

void EntryIndex::Prepare(std::uint32_t number, Slots& slots, std::uint64_t seed,
                         std::vector<Network>& networks) {
  Candidate& candidate = candidates_[number];
  candidate.first_test = static_cast<std::uint32_t>(tests_.size());
  std::vector<Slot> exact;
  std::uint64_t hash = 0;
  for (const EntryCondition& condition : entries_[number]->entry.match) {
    Test test{.slot = slots.Intern(condition.attribute),
              .kind = condition.kind,
              .value = condition.value};
    if (condition.kind == PatternKind::kExact) {
      exact.push_back(test.slot);
      hash = AddToHash(hash, test.slot, HashText(condition.value, seed));
    } else if (condition.kind == PatternKind::kCidr) {
      test.network = ParseNetwork(condition.value).value();
    } else {
      test.glob = static_cast<std::uint32_t>(globs_.size());
      globs_.push_back(rules::Glob::Compile(condition.value).value());
    }
    if (uses_.size() <= test.slot) uses_.resize(test.slot + 1);
    uses_[test.slot] = true;
    tests_.push_back(test);
  }
  candidate.end_test = static_cast<std::uint32_t>(tests_.size());
  const std::span<const Test> tests =
      std::span(tests_).subspan(candidate.first_test, candidate.end_test - candidate.first_test);
  // The sets are looked up one by one: an entry without conditions is in the empty set.
  if (!exact.empty() || tests.empty()) return AddExact(number, exact, hash);
  const auto network = std::find_if(
      tests.begin(), tests.end(), [](const Test& test) { return test.kind == PatternKind::kCidr; });
  if (network != tests.end()) {
    networks.push_back(network->network);
    entry_of_network_.push_back(number);
  } else {
    glob_entries_.emplace_back(tests.front().slot, number);
  }
}

void EntryIndex::AddExact(std::uint32_t number, std::span<const Slot> slots, std::uint64_t hash) {
  if (std::none_of(sets_.begin(), sets_.end(), [&](const auto& set) {
        return std::equal(set.begin(), set.end(), slots.begin(), slots.end());
      })) {
    sets_.emplace_back(slots.begin(), slots.end());
  }
  Place& place =
      places_.FindOrEmpty(hash, [&](const Place& each) { return each.hash == UpperHalf(hash); });
  candidates_[number].next = place.first;
  place = {.hash = UpperHalf(hash), .first = number + 1};
}

void EntryIndex::IndexGlobs() {
  std::sort(glob_entries_.begin(), glob_entries_.end());
  for (std::size_t begin = 0; begin < glob_entries_.size();) {
    const Slot slot = glob_entries_[begin].first;
    SlotGlobs& globs = globs_of_slots_.emplace_back();
    globs.slot = slot;
    std::vector<LiteralIndex::Wanted> wanted;
    for (; begin < glob_entries_.size() && glob_entries_[begin].first == slot; ++begin) {
      const std::uint32_t number = glob_entries_[begin].second;
      const auto literals = globs_[tests_[candidates_[number].first_test].glob].Literals();
      const auto longest =
          std::max_element(literals.begin(), literals.end(), [](const auto& a, const auto& b) {
            // A literal at the beginning is found without a look at the whole value.
            return std::pair(a.text.size() >= LiteralIndex::kLeastBytes && a.at_begin,
                             a.text.size()) <
                   std::pair(b.text.size() >= LiteralIndex::kLeastBytes && b.at_begin,
                             b.text.size());
          });
      if (longest == literals.end() || longest->text.size() < LiteralIndex::kLeastBytes) {
        globs.others.push_back(number);
        continue;
      }
      wanted.push_back({.literal = {.text = std::string(longest->text),
                                    .at_begin = longest->at_begin,
                                    .at_end = longest->at_end},
                        .id = number});
    }
    globs.literals = LiteralIndex(std::move(wanted));
  }
}

bool EntryIndex::Holds(const Candidate& candidate, const EntryMatches& matches) const {
  for (std::uint32_t i = candidate.first_test; i < candidate.end_test; ++i) {
    const Test& test = tests_[i];
    if (test.kind == PatternKind::kCidr) {
      if (!matches.address_ || !test.network.Contains(*matches.address_)) return false;
      continue;
    }
    const std::string_view value = matches.values_[test.slot];
    if (value.empty()) return false;
    if (test.kind == PatternKind::kExact ? value != test.value
                                         : !globs_[test.glob].Matches(value)) {
      return false;
    }
  }
  return true;
}

void EntryIndex::Take(std::uint32_t number, EntryMatches& matches) const {
  if (Holds(candidates_[number], matches)) matches.found_.push_back(entries_[number].get());
}

void EntryIndex::Find(EntryMatches& matches) const {
  for (const std::vector<Slot>& set : sets_) {
    std::uint64_t hash = 0;
    bool is_complete = true;
    for (const Slot slot : set) {
      is_complete = !matches.values_[slot].empty();
      if (!is_complete) break;
      hash = AddToHash(hash, slot, matches.hashes_[slot]);
    }
    if (!is_complete) continue;
    const Place* const place =
        places_.Find(hash, [&](const Place& each) { return each.hash == UpperHalf(hash); });
    if (place == nullptr) continue;
    for (std::uint32_t next = place->first; next != 0; next = candidates_[next - 1].next) {
      Take(next - 1, matches);
    }
  }
  if (!networks_.empty() && matches.address_) {
    networks_.ForEach(*matches.address_,
                      [&](std::uint32_t network) { Take(entry_of_network_[network], matches); });
  }
  for (const SlotGlobs& globs : globs_of_slots_) {
    const std::string_view value = matches.values_[globs.slot];
    if (value.empty()) continue;
    globs.literals.ForEach(value, [&](std::uint32_t number) { Take(number, matches); });
    for (const std::uint32_t number : globs.others) Take(number, matches);
  }
}

}  // namespace sluice::match
