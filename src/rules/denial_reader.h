#pragma once

#include "config_text/reading.h"
#include "rules/model.h"

namespace sluice::rules {

/// Reads `denial`.
Denial ReadDenial(config_text::Reading& reading, const config_text::Field& field);

}  // namespace sluice::rules
