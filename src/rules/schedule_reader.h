#pragma once

#include <vector>

#include <sluice/time.h>

#include "config_text/diagnostic.h"
#include "config_text/mapping.h"
#include "rules/model.h"

namespace sluice::rules {

/// Reads `starts_at` and `expires_at`, which are among the names of `mapping`.
[[nodiscard]] Schedule ReadSchedule(const config_text::Mapping& mapping);

/// Returns warnings about rules and limits that have expired at `now`, in the order of the rules.
[[nodiscard]] std::vector<config_text::Diagnostic> WarnOfExpired(const RuleFile& file,
                                                                 WallTime now);

}  // namespace sluice::rules
