#pragma once

#include <cstdint>

#include "base/wide_math.h"

namespace sluice {

/// numerator / denominator, both positive.
struct Fraction {
  Wide numerator;
  Wide denominator;
};

/// Returns the fraction in lowest terms.
Fraction Reduced(Fraction f);

/// Returns the largest fraction ≤ f with a denominator of at most `max_denominator` (≥ 1); its
/// numerator is 0 if no positive one exists. Precondition: f is reduced and both parts are at most
/// 2^53.
Fraction LargestBelow(Fraction f, std::int64_t max_denominator);

}  // namespace sluice
