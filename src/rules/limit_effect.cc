#include "rules/limit_effect.h"

#include <compare>
#include <initializer_list>

namespace sluice::rules {
namespace {

__extension__ using Wide = __int128;

// Compares a/b with c/d exactly, all of them above 0, without their products, which could be too
// large.
std::strong_ordering CompareFractions(Wide a, Wide b, Wide c, Wide d) {
  while (true) {
    const Wide left = a / b;
    const Wide right = c / d;
    if (left != right) {
      return left < right ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    a %= b;
    c %= d;
    if (a == 0 || c == 0) {
      if (a == c) return std::strong_ordering::equal;
      return a == 0 ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    // x/b < y/d exactly if d/y < b/x.
    const Wide x = a;
    const Wide y = c;
    a = d;
    c = b;
    b = y;
    d = x;
  }
}

std::strong_ordering CompareRates(const LimitNumbers& a, const LimitNumbers& b) {
  return CompareFractions(a.rate_num, Wide{a.rate_den} * a.interval.count(), b.rate_num,
                          Wide{b.rate_den} * b.interval.count());
}

// Each comparison is of the admitted calls afterwards with those before.
ChangeEffect Together(std::initializer_list<std::strong_ordering> comparisons) {
  bool more = false;
  bool less = false;
  for (const std::strong_ordering each : comparisons) {
    more = more || each > 0;
    less = less || each < 0;
  }
  if (more == less) return ChangeEffect::kChanges;
  return more ? ChangeEffect::kLoosens : ChangeEffect::kTightens;
}

}  // namespace

ChangeEffect EffectOf(const NamedLimit& before, const NamedLimit& after) {
  if (before.reject_all != after.reject_all) {
    return after.reject_all ? ChangeEffect::kTightens : ChangeEffect::kLoosens;
  }
  const LimitNumbers& a = before.limit.numbers();
  const LimitNumbers& b = after.limit.numbers();
  if (a.algorithm != b.algorithm || before.scale != after.scale) return ChangeEffect::kChanges;
  const std::strong_ordering cap = b.cap <=> a.cap;
  switch (a.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      if (a.interval != b.interval) return ChangeEffect::kChanges;
      return Together({cap, CompareRates(b, a)});
    case Algorithm::kFixedWindow:
    case Algorithm::kSlidingWindowLog:
    case Algorithm::kSlidingWindowCounter:
      if (a.anchor != b.anchor) return ChangeEffect::kChanges;
      return Together({cap, a.window <=> b.window});
    case Algorithm::kConcurrency:
      return Together({cap, a.window <=> b.window});
  }
  return ChangeEffect::kChanges;
}

}  // namespace sluice::rules
