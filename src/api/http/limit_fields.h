#pragma once

#include <cstdint>
#include <optional>

#include <sluice/limit.h>

#include "api/http/json_body.h"
#include "api/limit_cache.h"

namespace sluice::api {

/// A limit that a request brings: {"algorithm":"token_bucket","capacity":10,"refill_rate":5}.
/// docs/http.md has the fields of each algorithm. Nothing, and a problem, if it is wrong.
[[nodiscard]] std::optional<Limit> ReadLimit(JsonFields& fields, LimitCache& kept);

/// A descriptor's: a window that its first call begins. Nothing, and a problem with `limit`, if
/// there is no such one.
[[nodiscard]] std::optional<Limit> MakeDescriptorLimit(JsonFields& fields, LimitCache& kept,
                                                       std::int64_t limit, Micros window);

}  // namespace sluice::api
