#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_index.h"
#include "base/network.h"
#include "base/network_table.h"
#include "match/attributes.h"
#include "match/entry.h"
#include "match/literal_index.h"
#include "match/match_input.h"
#include "rules/glob.h"

namespace sluice::match {

/// A call as entries see it, and the entries that match it. Made once and used for many calls:
/// after the first few it allocates nothing. For one thread at a time.
class EntryMatches {
 public:
  /// The entries in force that match the call, in the order of Precedes.
  [[nodiscard]] std::span<const LiveEntry* const> found() const { return found_; }
  [[nodiscard]] bool empty() const { return found_.empty(); }
  void Clear() { found_.clear(); }

 private:
  friend class EntryIndex;
  friend class EntrySet;

  std::vector<const LiveEntry*> found_;
  std::vector<std::string_view> values_;  ///< By slot; empty: the call has none.
  std::vector<std::uint64_t> hashes_;     ///< By slot, of values that are there.
  std::vector<Slot> present_;
  std::optional<Address> address_;
  std::array<char, kMaxAddressText> address_text_{};
  std::string host_text_;
  std::string method_text_;
};

/// Finds the entries, of many, whose conditions a call fulfills. An entry is indexed by the values
/// of all its exact conditions together, else by its network, else by text that its glob needs.
/// Immutable, so any thread may look.
class EntryIndex {
 public:
  using Entries = std::vector<std::shared_ptr<const LiveEntry>>;

  /// Attributes are interned in `slots`. Values are hashed with `seed`: the texts may be chosen by
  /// an attacker who wants collisions.
  EntryIndex(Entries entries, Slots& slots, std::uint64_t seed);

  /// Appends the entries that match to `matches.found_`, whatever their expiry.
  void Find(EntryMatches& matches) const;

  /// Whether a condition is on this attribute.
  [[nodiscard]] bool Uses(Slot slot) const { return slot < uses_.size() && uses_[slot]; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

 private:
  struct Place {
    std::uint32_t hash = 0;   ///< The upper half.
    std::uint32_t first = 0;  ///< Number of the first entry, from 1.
    [[nodiscard]] bool empty() const { return first == 0; }
  };
  /// A condition that is compared once the entry is a candidate.
  struct Test {
    Slot slot = 0;
    rules::PatternKind kind = rules::PatternKind::kExact;
    std::uint32_t glob = 0;
    Network network{};
    std::string_view value{};
  };
  /// An entry, prepared.
  struct Candidate {
    std::uint32_t next = 0;  ///< With the same hash, from 1; 0: none.
    std::uint32_t first_test = 0;
    std::uint32_t end_test = 0;
  };
  struct SlotGlobs {
    Slot slot = 0;
    LiteralIndex literals;
    std::vector<std::uint32_t> others;  ///< Globs with too little text to be indexed.
  };

  void Prepare(std::uint32_t number, Slots& slots, std::uint64_t seed,
               std::vector<Network>& networks);
  void AddExact(std::uint32_t number, std::span<const Slot> slots, std::uint64_t hash);
  void IndexGlobs();
  [[nodiscard]] bool Holds(const Candidate& candidate, const EntryMatches& matches) const;
  void Take(std::uint32_t number, EntryMatches& matches) const;

  Entries entries_;
  std::vector<Candidate> candidates_;  ///< Of each entry.
  std::vector<Test> tests_;
  std::vector<bool> uses_;  ///< By slot.
  std::vector<rules::Glob> globs_;
  std::vector<std::vector<Slot>> sets_;  ///< The attribute sets of exact conditions.
  FlatIndex<Place> places_;
  NetworkTable networks_;
  std::vector<std::uint32_t> entry_of_network_;
  std::vector<std::pair<Slot, std::uint32_t>> glob_entries_;  ///< Indexed by their first glob.
  std::vector<SlotGlobs> globs_of_slots_;
};

}  // namespace sluice::match
