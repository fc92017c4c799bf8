#pragma once

#include <cstdint>

#include "base/wide_math.h"

namespace sluice {

/// numerator / denominator, both positive.
struct Fraction {
  Wide numerator;
  Wide denominator;
};

/// The same value in lowest terms.
Fraction Reduced(Fraction f);

/// The largest fraction ≤ f whose denominator is at most `max_denominator` (≥ 1); its numerator is
/// 0 if nothing positive fits. For reduced f with both parts at most 2^53.
Fraction LargestBelow(Fraction f, std::int64_t max_denominator);

}  // namespace sluice
