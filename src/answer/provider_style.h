#pragma once

#include <string>
#include <string_view>

#include <sluice/time.h>

#include "answer/http_answer.h"
#include "answer/rate_limit_headers.h"
#include "base/header_sink.h"
#include "limiter/check_request.h"

/// Responses as the providers of language models give them, so that their client libraries
/// understand a gateway: HeaderStyle::kOpenAi and kAnthropic.
namespace sluice {

[[nodiscard]] constexpr bool IsOfProvider(HeaderStyle style) {
  return style == HeaderStyle::kOpenAi || style == HeaderStyle::kAnthropic;
}

/// Adds the headers of a provider's style: for requests and for tokens, those of the limit with the
/// least left. `wait` is that of a denied caller. Money and calls in flight have no headers.
void AddProviderHeaders(const limiter::CheckRequest& check, WallTime now, HeaderStyle style,
                        Micros wait, HeaderSink& headers);

/// Appends members of a JSON object that say why a call was denied: `"error":{…}`, of Anthropic's
/// also `"type":"error"`. `message` is for people; `id` is of the denial, and may be empty.
void AppendProviderError(const limiter::CheckRequest& check, const HttpAnswer& answer,
                         HeaderStyle style, std::string_view message, std::string_view id,
                         std::string& out);

}  // namespace sluice
