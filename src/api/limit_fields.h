#pragma once

#include <optional>

#include <sluice/limit.h>

#include "api/json_body.h"

namespace sluice::api {

/// A limit that a request brings: {"algorithm":"token_bucket","capacity":10,"refill_rate":5}.
/// docs/http.md has the fields of each algorithm. Nothing, and a problem, if it is wrong.
[[nodiscard]] std::optional<Limit> ReadLimit(JsonFields& fields);

}  // namespace sluice::api
