#pragma once

#include "rules/model.h"
#include "rules/reading.h"

namespace sluice::rules {

/// Reads `denial`.
Denial ReadDenial(Reading& reading, const Field& field);

}  // namespace sluice::rules
