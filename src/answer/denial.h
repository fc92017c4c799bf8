#pragma once

#include <string>
#include <string_view>

#include <sluice/time.h>

#include "answer/http_answer.h"
#include "answer/rate_limit_headers.h"
#include "base/header_sink.h"
#include "limiter/check_request.h"

namespace sluice {

/// The response to a denied client that is answered directly (not through the service that asked
/// for the check): as its rule configures it, by default JSON.
class Denial {
 public:
  /// All must outlive it. `wants_problem`: the caller prefers application/problem+json. `id`: of
  /// the denial; empty: it has none. `style`: a provider's has an error of its own.
  Denial(const limiter::CheckRequest& check, const HttpAnswer& answer, bool wants_problem,
         std::string_view id = {}, HeaderStyle style = HeaderStyle::kXRateLimit);

  [[nodiscard]] int status() const;
  /// The headers of the rule, in addition to those of AddRateLimitHeaders.
  void AddHeaders(HeaderSink& headers) const;
  [[nodiscard]] std::string_view content_type() const;
  void AppendBody(WallTime now, std::string& out) const;

 private:
  const limiter::CheckRequest& check_;
  const HttpAnswer& answer_;
  const bool wants_problem_;
  const std::string_view id_;
  const HeaderStyle style_;
  const rules::Denial* const custom_;  ///< Null: the rule says nothing.
};

/// Returns the message of a denial, for people.
[[nodiscard]] std::string DenialMessage(const limiter::CheckRequest& check,
                                        const HttpAnswer& answer);

}  // namespace sluice
