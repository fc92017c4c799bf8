#pragma once

#include <optional>

#include "limiter/check_request.h"
#include "match/entry.h"
#include "rules/model.h"

namespace sluice::penalty {

/// Returns the matcher of a penalty for the caller of a denied check: `match`, `rule` and
/// `penalty.without_key` are set. Empty if the caller can't be identified.
[[nodiscard]] std::optional<match::Entry> OffenderOf(const limiter::CheckRequest& check,
                                                     const rules::Rule& rule);

/// Returns the value that identifies the caller: of the API key, if it is known, or the address.
/// Empty: it has neither.
[[nodiscard]] std::string_view CallerOf(const limiter::CheckRequest& check);

}  // namespace sluice::penalty
