#pragma once

#include <sluice/time.h>

#include "api/http_options.h"
#include "limiter/question.h"
#include "wire/http_response.h"

namespace sluice::api {

/// Adds what an answer tells of its limits in headers: nothing if the call met none.
///
/// Whoever is denied and waits for Retry-After (whole seconds) or X-RateLimit-Reset-Ms passes, if
/// nobody else calls. `jitter` is added to that wait; what tells when the limit is as if never used
/// is never earlier.
void AddRateLimitHeaders(const limiter::Question& question, WallTime now, HeaderStyle style,
                         Micros jitter, wire::HttpResponse& response);

}  // namespace sluice::api
