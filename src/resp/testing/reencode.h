#pragma once

#include <string>

#include "resp/value.h"

namespace sluice::resp::testing {

/// Appends the value in RESP3: what a server that means this value would send.
void AppendValue(Value value, std::string& out);

}  // namespace sluice::resp::testing
