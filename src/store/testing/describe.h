#pragma once

#include <string>

#include "store/store.h"

namespace sluice::store::testing {

/// The question and the answers, one line for the call and one for each use.
std::string DescribeCall(const Call& call);

/// Describes the differences between two stores' results of the same call; empty if none.
std::string DescribeDifference(const Call& a, const Call& b);

}  // namespace sluice::store::testing
