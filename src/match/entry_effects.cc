#include "match/entry_effects.h"

#include <algorithm>

#include "algo/algorithm_info.h"
#include "base/wide_math.h"

namespace sluice::match {
namespace {

const LiveEntry* LastingBlock(FoundEntries found, std::string_view rule) {
  const LiveEntry* block = nullptr;
  for (const LiveEntry* const live : found) {
    if (live->entry.effect != EntryEffect::kBlock || live->entry.rule != rule) continue;
    if (live->entry.penalty) continue;
    if (block == nullptr || live->entry.expires_at > block->entry.expires_at) block = live;
  }
  return block;
}

bool IsFor(const EntryPenalty& penalty, TakesPenalties takes) {
  return takes == TakesPenalties::kAll ||
         (takes == TakesPenalties::kOfKeys && !penalty.without_key);
}

bool Concerns(const Entry& entry, const EntryTarget& target) {
  if (!entry.rule.empty() && entry.rule != target.rule) return false;
  return entry.limit_name.empty() || entry.limit_name == target.limit_name;
}

std::int64_t Scaled(std::int64_t amount, std::int64_t numerator, std::int64_t denominator,
                    std::int64_t most) {
  const Wide scaled = Wide{amount} * numerator / denominator;
  return static_cast<std::int64_t>(std::clamp(scaled, Wide{1}, Wide{most}));
}

std::int64_t MostOf(Algorithm algorithm) {
  if (algorithm == Algorithm::kSlidingWindowLog) return kMaxLogLimit;
  return algorithm == Algorithm::kConcurrency ? kMaxSlots : kMaxAmount;
}

// The limit times numerator / denominator, rounded down, but at least 1.
std::optional<Limit> Times(const Limit& limit, std::int64_t numerator, std::int64_t denominator) {
  LimitNumbers numbers = limit.numbers();
  numbers.cap = Scaled(numbers.cap, numerator, denominator, MostOf(limit.algorithm()));
  if (algo::IsBucket(limit.algorithm())) {
    Wide tokens = Wide{numbers.rate_num} * numerator;
    Wide per = Wide{numbers.rate_den} * denominator;
    // A rate is held as two numbers of 53 bits: shifting both changes it by less than 2^-40.
    while (tokens > kMaxAmount || per > kMaxAmount) {
      tokens >>= 1;
      per = (per + 1) >> 1;
    }
    if (tokens == 0) return std::nullopt;
    numbers.rate_num = static_cast<std::int64_t>(tokens);
    numbers.rate_den = static_cast<std::int64_t>(per);
  }
  const auto made = Limit::FromNumbers(numbers);
  return made ? std::optional<Limit>(*made) : std::nullopt;
}

std::optional<Limit> WithRate(const Limit& limit, std::int64_t amount, Micros period) {
  LimitNumbers numbers = limit.numbers();
  if (limit.algorithm() == Algorithm::kConcurrency) return std::nullopt;
  numbers.cap = std::min(amount, MostOf(limit.algorithm()));
  if (algo::IsBucket(limit.algorithm())) {
    const Wide tokens = Wide{amount} * numbers.interval.count();
    if (tokens > kMaxAmount) return std::nullopt;
    numbers.rate_num = static_cast<std::int64_t>(tokens);
    numbers.rate_den = period.count();
  } else {
    const bool is_calendar = numbers.window == Micros{0};
    if (is_calendar) numbers.anchor = Anchor::kEpoch;
    numbers.window = period;
  }
  const auto made = Limit::FromNumbers(numbers);
  return made ? std::optional<Limit>(*made) : std::nullopt;
}

}  // namespace

EntryTarget TargetOf(const rules::Rule& rule, const rules::NamedLimit& limit) {
  // All variants of a rule have the same names.
  const rules::LimitVariants& variants = rule.variants;
  const std::size_t limits = !variants.usual.empty()    ? variants.usual.size()
                             : variants.by_tier.empty() ? 1
                                                        : variants.by_tier.begin()->second.size();
  return {.rule = rule.id,
          .limit_name = limit.name,
          .is_only_limit = limits <= 1,
          .rejects_all = limit.reject_all};
}

const LiveEntry* FindBlock(FoundEntries found) { return LastingBlock(found, {}); }

const LiveEntry* FindBlock(FoundEntries found, std::string_view rule) {
  return rule.empty() ? nullptr : LastingBlock(found, rule);
}

const LiveEntry* FindPenalty(FoundEntries found, TakesPenalties takes, std::string_view rule) {
  const LiveEntry* block = nullptr;
  for (const LiveEntry* const live : found) {
    const Entry& entry = live->entry;
    if (!entry.penalty || entry.effect != EntryEffect::kBlock || entry.rule != rule ||
        !IsFor(*entry.penalty, takes)) {
      continue;
    }
    const bool wins = block == nullptr || (entry.penalty->shadow != block->entry.penalty->shadow
                                               ? block->entry.penalty->shadow
                                               : entry.expires_at > block->entry.expires_at);
    if (wins) block = live;
  }
  return block;
}

const LiveEntry* FindAllow(FoundEntries found) {
  for (const LiveEntry* const live : found) {
    if (live->entry.effect == EntryEffect::kAllow && live->entry.rule.empty()) return live;
  }
  return nullptr;
}

const LiveEntry* FindAllow(FoundEntries found, const EntryTarget& target) {
  for (const LiveEntry* const live : found) {
    if (live->entry.effect == EntryEffect::kAllow && Concerns(live->entry, target)) return live;
  }
  return nullptr;
}

const LiveEntry* FindAdjustment(FoundEntries found, const EntryTarget& target) {
  const LiveEntry* penalty = nullptr;
  for (const LiveEntry* const live : found) {
    const Entry& entry = live->entry;
    if (entry.effect == EntryEffect::kBlock || entry.effect == EntryEffect::kAllow) continue;
    if (!Concerns(entry, target)) continue;
    // One number for several limits makes no sense: such an entry names the limit.
    if (entry.effect == EntryEffect::kLimit && entry.limit_name.empty() && !target.is_only_limit) {
      continue;
    }
    if (!entry.penalty) return live;
    const bool applies = !entry.penalty->shadow && IsFor(*entry.penalty, target.penalties);
    if (applies && penalty == nullptr) penalty = live;
  }
  return penalty;
}

std::optional<Limit> AdjustedLimit(const Limit& limit, const Entry& entry, std::int64_t scale) {
  if (entry.effect == EntryEffect::kMultiply) {
    return Times(limit, entry.factor.digits, PowerOfTen(entry.factor.scale));
  }
  if (entry.effect != EntryEffect::kLimit) return std::nullopt;
  const std::int64_t parts = entry.limit <= kMaxAmount / scale ? entry.limit * scale : kMaxAmount;
  if (entry.period == Micros{0}) return Times(limit, parts, limit.cap());
  return WithRate(limit, parts, entry.period);
}

Micros RestOf(const Entry& block, WallTime now) {
  if (block.expires_at == Entry::kNever) return Micros{-1};
  return std::max(Micros{1}, std::chrono::duration_cast<Micros>(block.expires_at - now));
}

}  // namespace sluice::match
