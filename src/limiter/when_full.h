#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <sluice/limit.h>

#include "base/key.h"
#include "match/rule_set.h"
#include "store/store.h"

/// Handles a call whose keys have no room in a bounded store: each rule's `when_full`.
namespace sluice::limiter {

/// The way that such a call went; of several limits, the last of these.
enum class FullOutcome : std::uint8_t {
  kNone,     ///< There was room.
  kOpen,     ///< The limit was not looked at.
  kShared,   ///< Decided by the budget that keys without room share.
  kClosed,   ///< Denied.
  kRefused,  ///< A limit that the caller brought: never open.
};
constexpr std::array<std::string_view, 5> LabelsOf(FullOutcome /*any*/) {
  return {"", "open", "shared", "closed", "refused"};
}

struct FullAnswer {
  FullOutcome outcome = FullOutcome::kNone;
  std::size_t index = 0;  ///< kClosed, kRefused: the use that closed the call.
};

/// The key of the budget that all keys of a limit share that have no room. No key of a caller is
/// equal to it. `limit` must outlive it; limits with equal numbers share one.
[[nodiscard]] Key OverflowKeyOf(std::string_view scope, const Limit& limit);
[[nodiscard]] bool IsOverflowKey(const Key& key);

/// Asks a store again that answered a check with kStoreFull, without the keys that have no room.
/// `matched` says whose limits the uses are. kOpen and kShared: the call is decided, its uses have
/// the keys that were taken from. Else it is not. The store must answer at once.
FullAnswer CheckWithoutRoom(store::Store& store, store::StoreCall& call,
                            std::span<const match::MatchedLimit> matched);

/// Asks a store for the slots of a release or renewal that affected none: they may have been taken
/// from budgets that keys share.
void FindSharedSlots(store::Store& store, store::StoreCall& call,
                     std::span<const match::MatchedLimit> matched);

}  // namespace sluice::limiter
