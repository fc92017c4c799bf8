#pragma once

#include <string>

#include "store/store.h"

namespace sluice::store::testing {

/// The question and the answers, one line for the call and one for each use.
std::string DescribeCall(const StoreCall& call);

/// Describes the differences between two stores' results of the same call; empty if none.
std::string DescribeDifference(const StoreCall& a, const StoreCall& b);

}  // namespace sluice::store::testing
