#pragma once

#include <sluice/decision.h>

#include "store/store.h"

namespace sluice::limiter {

/// Puts an answered check or peek into the words that a caller should hear. Of a denial: the limit
/// with the longest wait. Else: the limit in which the fewest further calls like this one fit, and
/// of several such the one that takes longest to reset. Shadow limits are not spoken of.
Decision Headline(const store::Call& call);

}  // namespace sluice::limiter
