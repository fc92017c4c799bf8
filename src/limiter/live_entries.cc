// What live entries do to a check.

#include <algorithm>

#include "limiter/limiter.h"

namespace sluice::limiter {

using match::EntryEffect;
using match::FoundEntries;
using match::LiveEntry;
using store::KeyUse;
using store::Operation;

FoundEntries Limiter::FindEntries(match::Attributes attributes, WallTime now) {
  if (entries_ == nullptr) return {};
  const match::EntrySet* const entries = entries_->Get().get();
  if (entries == nullptr || entries->empty()) return {};
  entries->Find(attributes, RuleTime(now), entry_matches_);
  return entry_matches_.found();
}

// Only checks are counted: who looks, changes nothing.
void Limiter::Note(const CheckRequest& check, const LiveEntry& live, WallTime now) {
  if (check.operation == Operation::kCheck) NoteEntry(live, now);
}

// True: the check is decided.
bool Limiter::Block(CheckRequest& check, const LiveEntry* block, WallTime now) {
  if (block == nullptr) return false;
  Note(check, *block, now);
  check.uses_.clear();
  check.matched_.clear();
  check.entry_ = block;
  check.entries_ = entries_->current();
  check.block_rest = match::RestOf(block->entry, RuleTime(now));
  check.ruling = Ruling::kBlocked;
  check.allowed = false;
  return true;
}

bool Limiter::IsBlocked(CheckRequest& check, FoundEntries found, WallTime now) {
  return Takes(check.operation) && Block(check, match::FindBlock(found), now);
}

// Penalties follow from limits: where limits don't deny, neither do they.
bool Limiter::IsPenalized(CheckRequest& check, FoundEntries found, std::string_view rule,
                          WallTime now) {
  if (!Takes(check.operation)) return false;
  const LiveEntry* const penalty =
      match::FindPenalty(found, match::PenaltiesOf(check.match_), rule);
  if (penalty == nullptr) return false;
  if (settings_.enforcement.load(std::memory_order_relaxed) != Enforcement::kOn) return false;
  if (!penalty->entry.penalty->shadow) return Block(check, penalty, now);
  Note(check, *penalty, now);
  return false;
}

bool Limiter::IsExempted(CheckRequest& check, FoundEntries found, WallTime now) {
  const LiveEntry* const allow = Takes(check.operation) ? match::FindAllow(found) : nullptr;
  if (allow == nullptr) return false;
  Note(check, *allow, now);
  check.entry_ = allow;
  check.entries_ = entries_->current();
  check.ruling = Ruling::kExempted;
  check.allowed = true;
  return true;
}

bool Limiter::IsCallerKeyBlocked(CheckRequest& check, WallTime now) {
  for (const CheckRequest::OwnLimit& own : check.own_) {
    if (!own.has_caller_key) continue;
    const Attribute key{"key", check.Text(own.tag)};
    if (IsBlocked(check, FindEntries({&key, 1}, now), now)) return true;
  }
  return false;
}

// A limit that is exempted beside others keeps its place among the results, but neither denies nor
// takes.
Limiter::EntryStep Limiter::ApplyToOwn(CheckRequest& check, const CheckRequest::OwnLimit& own,
                                       KeyUse& use, WallTime now) {
  const Attribute key{"key", check.Text(own.tag)};
  const FoundEntries found = FindEntries({&key, 1}, now);
  if (found.empty()) return EntryStep::kGoOn;
  if (IsBlocked(check, found, now)) return EntryStep::kBlocked;
  if (IsExempted(check, found, now)) {
    use.mode = Mode::kShadow;
    use.only_looks = true;
    return EntryStep::kExempted;
  }
  Adjust(check, found, {}, use, now);
  return EntryStep::kGoOn;
}

// The numbers of an entry apply to all operations: what is given back or released was taken under
// them.
void Limiter::Adjust(CheckRequest& check, FoundEntries found, const match::EntryTarget& target,
                     KeyUse& use, WallTime now) {
  const LiveEntry* const live = match::FindAdjustment(found, target);
  if (live == nullptr) return;
  if (live->entry.effect == EntryEffect::kUnlimited) {
    if (!Takes(check.operation)) return;
    use.mode = Mode::kShadow;
    return Note(check, *live, now);
  }
  if (target.rejects_all) return;
  const rules::NamedLimit* const named = check.matched_.back().limit;
  const auto adjusted =
      match::AdjustedLimit(*use.limit, live->entry, named == nullptr ? 1 : named->scale);
  if (!adjusted) return;
  // Uses point to the limits, so these must not move.
  if (check.adjusted_.empty()) {
    check.adjusted_.reserve(std::max(check.match_.limits().size(), check.own_.size()));
  }
  use.limit = &check.adjusted_.emplace_back(*adjusted);
  Note(check, *live, now);
}

}  // namespace sluice::limiter
