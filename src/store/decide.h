#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "algo/state.h"
#include "store/store.h"

/// What a call does to states that lie in memory: the part that all-or-nothing is about. Pure but
/// for the ids of new slots.
namespace sluice::store {

/// The state of one key while a call is judged. Uses of one key share it.
struct Subject {
  algo::State state;         ///< Advanced to the call's `now`.
  std::int64_t pending = 0;  ///< What earlier uses of the call are going to take.
  bool changed = false;      ///< To be written back.
};

/// Whether a call passes, by what its limits said: none that is enforced may deny it, nor may all
/// of its quotas.
inline bool Passes(std::span<const Use> uses) {
  bool any_quota = false;
  bool any_quota_fits = false;
  for (const Use& use : uses) {
    const bool fits = use.verdict.outcome == Outcome::kAllowed;
    if (use.mode == Mode::kEnforce && !fits) return false;
    if (use.mode != Mode::kQuota) continue;
    any_quota = true;
    any_quota_fits = any_quota_fits || fits;
  }
  return !any_quota || any_quota_fits;
}

inline bool Fits(const Key& key) {
  return key.scope.size() <= kMaxKeyBytes && key.tag.size() + key.rest.size() <= kMaxKeyBytes;
}

/// Whether this is a check of one limit that can't be refused: what nearly all calls are.
inline bool IsPlainCheck(const Call& call) {
  if (call.operation != Operation::kCheck || call.uses.size() != 1) return false;
  const Use& use = call.uses[0];
  return use.cost >= 0 && use.cost <= kMaxAmount && Fits(use.key);
}

/// Why a call makes no sense, if it doesn't. Looks at the questions only, and brings those that are
/// beyond all bounds (times, amounts) to the bound.
std::optional<ErrorCode> Refusal(Call& call);

/// Runs the call (any operation but kReset and kInspect) on its subjects, one for each use, and
/// fills in its answers.
void Decide(Call& call, std::span<Subject* const> subjects);

/// What a look at the key says.
Verdict Look(const LimitNumbers& limit, WallTime now, const algo::State& state);

}  // namespace sluice::store
