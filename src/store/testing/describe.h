#pragma once

#include <string>

#include "store/store.h"

namespace sluice::store::testing {

/// The question and the answers, one line for the call and one for each use.
std::string DescribeCall(const Call& call);

/// What two stores answered differently to the same call; empty if nothing.
std::string DescribeDifference(const Call& a, const Call& b);

}  // namespace sluice::store::testing
