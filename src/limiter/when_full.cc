#include "limiter/when_full.h"

#include <algorithm>
#include <array>

namespace sluice::limiter {
namespace {

using rules::WhenFull;
using store::KeyKind;
using store::KeyUse;

// Encoded values hold no such character.
constexpr std::string_view kOverflowMark = "*";

// The numbers of a limit, as bytes without gaps.
std::string_view BytesOf(const LimitNumbers& numbers) {
  constexpr std::size_t kBytes = sizeof(LimitNumbers) - offsetof(LimitNumbers, cap);
  static_assert(kBytes == 5 * sizeof(std::int64_t), "there are bytes between the numbers");
  return {reinterpret_cast<const char*>(&numbers.cap), kBytes};
}

WhenFull WhenFullOf(const KeyUse& use, const rules::Rule* rule) {
  // A limit that only watches must not deny.
  const WhenFull without_room = use.mode == Mode::kShadow ? WhenFull::kOpen : WhenFull::kClosed;
  if (rule == nullptr || use.kind == KeyKind::kOverflow) return without_room;
  return rule->when_full == WhenFull::kClosed ? without_room : rule->when_full;
}

/// The original values of a use before it was changed.
struct Asked {
  std::int64_t cost;
  bool only_looks;
};

}  // namespace

Key OverflowKeyOf(std::string_view scope, const Limit& limit) {
  return {.scope = scope, .tag = BytesOf(limit.numbers()), .rest = kOverflowMark};
}

bool IsOverflowKey(const Key& key) { return key.rest == kOverflowMark; }

FullAnswer CheckWithoutRoom(store::Store& store, store::StoreCall& call,
                            std::span<const match::MatchedLimit> matched) {
  std::array<Asked, kMaxLimitsPerCall> asked;
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    asked[i] = {call.uses[i].cost, call.uses[i].only_looks};
  }
  FullAnswer answer;
  bool any_changed = true;
  while (any_changed && !call.ok && call.error == ErrorCode::kStoreFull) {
    any_changed = false;
    for (std::size_t i = 0; i < call.uses.size(); ++i) {
      KeyUse& use = call.uses[i];
      if (!use.no_room || use.only_looks) continue;
      any_changed = true;
      use.no_room = false;
      const WhenFull when_full = WhenFullOf(use, matched[i].rule);
      if (when_full == WhenFull::kShared) {
        use.key = OverflowKeyOf(use.key.scope, *use.limit);
        use.kind = KeyKind::kOverflow;
        answer.outcome = std::max(answer.outcome, FullOutcome::kShared);
      } else if (when_full == WhenFull::kOpen) {
        use.cost = 0;
        use.only_looks = true;
        answer.outcome = std::max(answer.outcome, FullOutcome::kOpen);
      } else if (use.mode == Mode::kQuota) {
        // Denies only together with all other quotas.
        use.cost = kMaxAmount;
        use.only_looks = true;
        answer.outcome = std::max(answer.outcome, FullOutcome::kClosed);
      } else {
        const bool of_rule = matched[i].rule != nullptr;
        return {.outcome = of_rule ? FullOutcome::kClosed : FullOutcome::kRefused, .index = i};
      }
    }
    if (any_changed) store.Submit(call);
  }
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    call.uses[i].cost = asked[i].cost;
    call.uses[i].only_looks = asked[i].only_looks;
  }
  return answer;
}

void FindSharedSlots(store::Store& store, store::StoreCall& call,
                     std::span<const match::MatchedLimit> matched) {
  bool any_shared = false;
  for (std::size_t i = 0; i < call.uses.size(); ++i) {
    KeyUse& use = call.uses[i];
    if (matched[i].rule == nullptr || matched[i].rule->when_full != WhenFull::kShared) continue;
    use.key = OverflowKeyOf(use.key.scope, *use.limit);
    use.kind = KeyKind::kOverflow;
    any_shared = true;
  }
  if (any_shared) store.Submit(call);
}

}  // namespace sluice::limiter
