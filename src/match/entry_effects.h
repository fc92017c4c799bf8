#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "match/entry.h"
#include "match/rule_set.h"

/// What the entries that match a call do to it. They are in the order of Precedes
/// (EntryMatches::found); all pointers are null if there is no such entry.
namespace sluice::match {

using FoundEntries = std::span<const LiveEntry* const>;

/// The penalties that a call is subject to.
enum class TakesPenalties : std::uint8_t {
  kNone,    ///< Rules don't decide it.
  kOfKeys,  ///< It has a known API key: not those of calls without one.
  kAll,
};

/// Of a call that rules decide.
[[nodiscard]] inline TakesPenalties PenaltiesOf(const Match& match) {
  return match.has_known_key() ? TakesPenalties::kOfKeys : TakesPenalties::kAll;
}

/// A limit that a call matched, as entries refer to it.
struct EntryTarget {
  std::string_view rule{};        ///< Empty: a limit that the request brought.
  std::string_view limit_name{};  ///< The same.
  bool is_only_limit = true;      ///< The rule has no other limit.
  bool rejects_all = false;       ///< It has no numbers that could be changed.
  TakesPenalties penalties = TakesPenalties::kNone;
};
[[nodiscard]] EntryTarget TargetOf(const rules::Rule& rule, const rules::NamedLimit& limit);

/// The block of the whole call. Of several: the one that ends last, so that its end is the time
/// from which the call is admitted.
[[nodiscard]] const LiveEntry* FindBlock(FoundEntries found);
/// The block of calls that match this rule.
[[nodiscard]] const LiveEntry* FindBlock(FoundEntries found, std::string_view rule);

/// The penalty that blocks the call, or with `rule` calls that match it. Of several: the one that
/// ends last; those that are in shadow come after all others.
[[nodiscard]] const LiveEntry* FindPenalty(FoundEntries found, TakesPenalties takes,
                                           std::string_view rule = {});

/// The entry that admits the whole call.
[[nodiscard]] const LiveEntry* FindAllow(FoundEntries found);
/// The entry that exempts the call from this limit.
[[nodiscard]] const LiveEntry* FindAllow(FoundEntries found, const EntryTarget& target);

/// The entry that changes a limit: `unlimited`, `limit` or `multiply`. Those of operators come
/// before penalties.
[[nodiscard]] const LiveEntry* FindAdjustment(FoundEntries found, const EntryTarget& target);

/// Returns the limit with the numbers of an entry, of the same algorithm, so that keys keep what
/// they have left. Nothing if the entry does not apply to it: a rate for a concurrency limit, or
/// numbers that can't be held exactly.
[[nodiscard]] std::optional<Limit> AdjustedLimit(const Limit& limit, const Entry& entry,
                                                 std::int64_t scale = 1);

/// Returns how long a block lasts from `now`; negative: for ever.
[[nodiscard]] Micros RestOf(const Entry& block, WallTime now);

}  // namespace sluice::match
