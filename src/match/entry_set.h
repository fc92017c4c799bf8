#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <sluice/time.h>

#include "base/labels.h"
#include "match/attributes.h"
#include "match/entry.h"
#include "match/entry_index.h"

namespace sluice::match {

/// The most entries of each kind that are accepted. More would cost every call too much.
struct EntryBounds {
  std::size_t entries = 120'000;
  std::size_t attribute_sets = 16;  ///< Distinct sets of attributes with exact conditions.
  std::size_t networks = 10'000;
  std::size_t globs = 256;
  std::size_t equal_matchers = 64;  ///< Entries with the same matcher.
};

/// The live entries of a moment: a large index (base), a small one of later changes (delta), and
/// the entries of the base that were replaced or removed. Immutable, shared by all threads;
/// consulted without allocation: `./dev bench entries`.
///
///     EntryMatches matches;  // One for each thread, kept.
///     entries->Find(attributes, now, matches);
///     for (const LiveEntry* entry : matches.found()) …
class EntrySet {
 public:
  /// Finds the entries that match a call and are in force at `now`.
  void Find(Attributes attributes, WallTime now, EntryMatches& matches) const;

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }

 private:
  friend class EntryTable;
  using Gone = std::unordered_set<const LiveEntry*>;

  void ReadCall(Attributes attributes, EntryMatches& matches) const;

  std::shared_ptr<const Slots> slots_;
  std::shared_ptr<const EntryIndex> base_;
  std::shared_ptr<const EntryIndex> delta_;
  Gone gone_;  ///< Of the base.
  std::uint64_t seed_ = 0;
  std::vector<bool> uses_;  ///< By slot: whether a condition is on it.
  Slot host_ = kNoSlot;
  Slot method_ = kNoSlot;
  std::size_t size_ = 0;
};

/// How many entries there are, by the effect and by the kind of their matchers.
struct EntryCounts {
  EnumArray<EntryEffect, std::size_t> by_effect{};
  EnumArray<EntryKind, std::size_t> by_kind{};
  std::size_t total = 0;
};

/// All live entries by id: applies changes and makes the snapshots. One change costs as much as the
/// changes since the last base, not as all entries. Not thread-safe.
class EntryTable {
 public:
  EntryTable();

  /// Adds or replaces. The last use of an entry that is replaced is kept.
  void Put(Entry entry);
  /// False: there is none.
  bool Remove(std::string_view id);
  /// Takes the entries of another table instead. Last uses of entries that stay are kept.
  void Replace(EntryTable other);

  [[nodiscard]] std::shared_ptr<const LiveEntry> Find(std::string_view id) const;
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const EntryCounts& counts() const { return tally_.counts; }
  /// Calls `visit` for each entry after this id ("": from the first), in the order of their ids,
  /// until it returns false.
  void Visit(std::string_view after,
             const std::function<bool(const std::shared_ptr<const LiveEntry>&)>& visit) const;

  /// Returns why the table can't take these entries besides those that it has and keeps; empty: it
  /// can. Costs as much as the change, not as all entries. No id may occur twice.
  [[nodiscard]] std::string RefusalOf(const std::vector<Entry>& added,
                                      const std::vector<std::string>& removed = {},
                                      const EntryBounds& bounds = {}) const;

  /// Makes the snapshot of all changes so far.
  [[nodiscard]] std::shared_ptr<const EntrySet> Snapshot();

 private:
  struct Held {
    std::shared_ptr<const LiveEntry> entry;
    bool in_base = false;
  };

  /// Numbers of entries that the bounds are about, or their changes.
  struct Tally {
    void Add(const LiveEntry& live) { Count(live.entry, live.kind, 1); }
    void Remove(const LiveEntry& live) { Count(live.entry, live.kind, -1); }
    void Count(const Entry& entry, EntryKind kind, std::ptrdiff_t sign);

    std::uint64_t seed = 0;  ///< Of the hashes of matchers.
    EntryCounts counts{};    ///< Modulo 2^64, if it is a change.
    std::unordered_map<std::string, std::ptrdiff_t> by_attributes{};  ///< With exact conditions.
    std::unordered_map<std::uint64_t, std::ptrdiff_t> by_matcher{};
  };

  void Drop(const Held& held);

  std::map<std::string, Held, std::less<>> entries_;
  Tally tally_;
  std::unordered_map<const LiveEntry*, std::shared_ptr<const LiveEntry>> delta_;
  EntrySet::Gone gone_;
  Slots slots_;
  std::shared_ptr<const EntryIndex> base_;
  std::uint64_t seed_;
};

}  // namespace sluice::match
