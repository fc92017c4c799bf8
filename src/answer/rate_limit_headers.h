#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sluice/time.h>

#include "base/header_sink.h"
#include "limiter/question.h"

namespace sluice {

/// How answers tell of limits in their headers. docs/http.md shows each.
enum class HeaderStyle : std::uint8_t { kXRateLimit, kDraft6, kDraft7, kDraft10, kNone };

/// "x-ratelimit", "draft-6", "draft-7", "draft-10", "none".
[[nodiscard]] std::string_view NameOf(HeaderStyle style);
[[nodiscard]] std::optional<HeaderStyle> FindHeaderStyle(std::string_view name);

/// Adds what an answer tells of its limits in headers: nothing if the call met none.
///
/// Whoever is denied and waits for Retry-After (whole seconds) or X-RateLimit-Reset-Ms passes, if
/// nobody else calls. `jitter` is added to that wait; what tells when the limit is as if never used
/// is never earlier.
void AddRateLimitHeaders(const limiter::Question& question, WallTime now, HeaderStyle style,
                         Micros jitter, HeaderSink& headers);

}  // namespace sluice
