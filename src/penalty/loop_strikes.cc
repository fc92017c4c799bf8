#include "penalty/loop_strikes.h"

#include <algorithm>
#include <utility>

#include "match/budget.h"
#include "match/entry_text.h"
#include "penalty/offender.h"

namespace sluice::penalty {

StrikeBuffer::Slot& StrikeBuffer::SlotOf(std::uint64_t hash) {
  // At most a quarter of the slots is used.
  std::size_t at = hash % kSlots;
  while (slots_[at].strike != 0 && slots_[at].hash != hash) at = (at + 1) % kSlots;
  return slots_[at];
}

Strike* StrikeBuffer::Find(std::uint64_t hash) {
  const Slot& slot = SlotOf(hash);
  return slot.strike == 0 ? nullptr : &strikes_[slot.strike - 1];
}

Strike* StrikeBuffer::Add(std::uint64_t hash, Strike strike) {
  if (strikes_.size() == kMaxStrikes) return nullptr;
  strikes_.push_back(std::move(strike));
  SlotOf(hash) = {.hash = hash, .strike = static_cast<std::uint32_t>(strikes_.size())};
  return &strikes_.back();
}

void StrikeBuffer::Clear() {
  if (!strikes_.empty()) slots_.assign(kSlots, {});
  strikes_.clear();
  dropped_ = 0;
}

void LoopStrikes::CountDenied(const limiter::CheckRequest& check, WallTime now) {
  if (check.operation != store::Operation::kCheck || check.matched_attributes().empty() ||
      check.full != limiter::FullOutcome::kNone) {
    return;
  }
  const rules::Rule* previous = nullptr;
  for (std::size_t i = 0; i < check.uses().size(); ++i) {
    const store::KeyUse& use = check.uses()[i];
    const rules::Rule* const rule = check.matched(i).rule;
    const bool denied = use.mode == Mode::kEnforce && use.verdict.outcome != Outcome::kAllowed;
    if (!denied || rule == nullptr || !rule->penalty || rule == previous) continue;
    if (use.key.rest == match::kMissingRest) continue;  // No single caller.
    previous = rule;
    const std::uint64_t hash =
        hasher_({.scope = rule->id, .tag = use.key.tag, .rest = use.key.rest}).high ^
        (hasher_({.scope = {}, .tag = CallerOf(check), .rest = {}}).high << 1U);
    Strike* strike = buffer_->Find(hash);
    if (strike == nullptr) {
      auto offender = OffenderOf(check, *rule);
      if (!offender) continue;
      offender->id = match::PenaltyIdOf(*offender, rule->id);
      strike = buffer_->Add(
          hash, {.offender = *std::move(offender), .rule = rule->id, .penalty = *rule->penalty});
    }
    if (strike == nullptr) {
      buffer_->Drop();
      continue;
    }
    ++strike->denials;
    if (rule->penalty->ignored_backoff > 0 && IgnoresBackoff(hash, use.verdict.retry_after, now)) {
      ++strike->ignored_backoff;
    }
    if (!has_strikes_.load(std::memory_order_relaxed)) {
      has_strikes_.store(true, std::memory_order_relaxed);
    }
  }
}

bool LoopStrikes::IgnoresBackoff(std::uint64_t hash, Micros wait, WallTime now) {
  if (backoffs_.empty()) backoffs_.resize(kBackoffs);
  Backoff& backoff = backoffs_[hash % kBackoffs];
  // After a clock was set back, announced waits mean nothing.
  const bool is_told = backoff.hash == hash && backoff.since <= now && now < backoff.until;
  if (is_told) return now - backoff.since >= kGrace;
  backoff = {.hash = hash, .since = now, .until = now + std::min(wait, kMaxWait)};
  return false;
}

std::unique_ptr<StrikeBuffer> LoopStrikes::Exchange(std::unique_ptr<StrikeBuffer> empty) {
  has_strikes_.store(false, std::memory_order_relaxed);
  return std::exchange(buffer_, std::move(empty));
}

}  // namespace sluice::penalty
