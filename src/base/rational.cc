#include "base/rational.h"

#include <algorithm>

namespace sluice {

Fraction Reduced(Fraction f) {
  Wide a = f.numerator;
  Wide b = f.denominator;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  return {f.numerator / a, f.denominator / a};
}

// A walk down the Stern–Brocot tree, many equal steps at a time: `low` ≤ f < `high` are neighbours
// there, and everything between them has a denominator of at least the sum of theirs.
Fraction LargestBelow(Fraction f, std::int64_t max_denominator) {
  Fraction low{f.numerator / f.denominator, 1};
  Fraction high{low.numerator + 1, 1};
  for (;;) {
    const Wide low_gap = f.numerator * low.denominator - low.numerator * f.denominator;
    const Wide high_gap = high.numerator * f.denominator - f.numerator * high.denominator;
    if (low_gap == 0) return low;

    const Wide up =
        std::min(low_gap / high_gap, (max_denominator - low.denominator) / high.denominator);
    if (up > 0) {
      low.numerator += up * high.numerator;
      low.denominator += up * high.denominator;
      continue;
    }
    // One step less than would reach f, because `high` must stay above it.
    const Wide down =
        std::min((high_gap - 1) / low_gap, (max_denominator - high.denominator) / low.denominator);
    if (down <= 0) return low;
    high.numerator += down * low.numerator;
    high.denominator += down * low.denominator;
  }
}

}  // namespace sluice
