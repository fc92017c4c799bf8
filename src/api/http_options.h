#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "answer/rate_limit_headers.h"
#include "api/session.h"
#include "wire/http_limits.h"

namespace sluice::api {

/// The limits behind `?algorithm=`, which need no rules.
struct DefaultLimits {
  /// 100 with 10 per second; 10 per second with a queue of 100; 100 per 60 seconds.
  DefaultLimits();

  /// Null: that algorithm can't be asked for by its name alone.
  [[nodiscard]] const Limit* Find(Algorithm algorithm) const;

  Limit token_bucket;
  Limit leaky_bucket;
  Limit fixed_window;
  Limit sliding_window;  ///< The log.
  Limit sliding_window_counter;
};

/// What a trusted proxy says of a call in a header of its own.
struct ProxyHeader {
  std::string header;
  std::string attribute;  ///< "cost": the call's own cost.
};

struct HttpOptions {
  wire::HttpLimits limits;
  /// Requests of one session that may wait for a store.
  std::size_t max_pending = kUsualMaxPending;
  HeaderStyle header_style = HeaderStyle::kXRateLimit;
  /// Up to so much is added to Retry-After, so that denied clients don't come back together.
  int retry_after_jitter_percent = 0;
  /// Whether requests may bring limits of their own.
  bool limits_in_requests = true;
  /// Signs receipts; the same in all processes that share a store. Empty: one of this process.
  std::string receipt_secret;
  DefaultLimits default_limits;
  std::vector<ProxyHeader> proxy_headers;
  /// For descriptors that name none.
  Micros descriptor_window = std::chrono::seconds(60);
};

}  // namespace sluice::api
