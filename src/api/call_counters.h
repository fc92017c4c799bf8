#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "api/peer.h"
#include "base/counter.h"
#include "base/labels.h"
#include "base/metrics.h"
#include "limiter/check_request.h"
#include "wire/http2_guard.h"

namespace sluice::api {

/// The result of a call.
enum class CallOutcome : std::uint8_t {
  kAllowed,
  kDenied,
  kUnlimited,    ///< No rule matched, and the call passed.
  kBypassed,     ///< On the allow list, or exempted by a live entry.
  kBlocked,      ///< On the deny list or by a live entry, or denied because no rule matched.
  kInvalid,      ///< An invalid request: no limit was evaluated.
  kUnavailable,  ///< The store failed, and the rule denies calls then.
};
constexpr std::array<std::string_view, 7> LabelsOf(CallOutcome /*any*/) {
  return {"allowed", "denied", "unlimited", "bypassed", "blocked", "invalid", "unavailable"};
}
[[nodiscard]] CallOutcome OutcomeOf(const limiter::CheckRequest& check);
/// The failure mode of the rule that decided.
[[nodiscard]] rules::OnStoreFailure FailureModeOf(const limiter::CheckRequest& check);

/// Calls and clients of one event loop.
struct CallCounters {
  EnumArray<Protocol, EnumArray<CallOutcome, Counter>> calls;
  EnumArray<Protocol, Counter> protocol_errors;
  EnumArray<wire::Http2Abuse, Counter> http2_abuses;
  EnumArray<Protocol, Counter> token_failures;

  void operator+=(const CallCounters& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    using S = CallCounters;
    return std::tuple{
        Metric{kCounter, "rate_limiter_calls_total", "Calls by outcome.", &S::calls, "protocol",
               "outcome"},
        Metric{kCounter, "rate_limiter_protocol_errors_total",
               "Requests that violate their protocol.", &S::protocol_errors, "protocol"},
        Metric{kCounter, "rate_limiter_http2_abuse_total",
               "HTTP/2 connections closed because the client exceeded a budget.", &S::http2_abuses,
               "reason"},
        Metric{kCounter, "rate_limiter_admin_token_failures_total", "Rejected admin tokens.",
               &S::token_failures, "protocol"}};
  }
};
static_assert(HasAllMetrics<CallCounters>);

}  // namespace sluice::api
