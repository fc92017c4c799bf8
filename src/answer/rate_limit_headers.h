#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <sluice/time.h>

#include "base/header_sink.h"
#include "limiter/check_request.h"

namespace sluice {

/// The styles of rate limit headers. docs/http.md shows each.
enum class HeaderStyle : std::uint8_t {
  kXRateLimit,
  kDraft6,
  kDraft7,
  kDraft10,
  kOpenAi,
  kAnthropic,
  kNone
};

/// "x-ratelimit", "draft-6", "draft-7", "draft-10", "openai", "anthropic", "none".
[[nodiscard]] std::string_view NameOf(HeaderStyle style);
/// All of them, in the order of the enum.
inline constexpr std::size_t kHeaderStyleCount = 7;
[[nodiscard]] std::optional<HeaderStyle> FindHeaderStyle(std::string_view name);

/// Adds the headers that describe the limits of a check: none if it matched no limit.
///
/// A denied client that waits for Retry-After (whole seconds) or X-RateLimit-Reset-Ms passes, if
/// there are no other callers. `jitter` is added to that wait; the time at which the limit is
/// unused again is never earlier.
void AddRateLimitHeaders(const limiter::CheckRequest& check, WallTime now, HeaderStyle style,
                         Micros jitter, HeaderSink& headers);

}  // namespace sluice
