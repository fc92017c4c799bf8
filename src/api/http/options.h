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
#include "api/receipt_text.h"
#include "api/request_limits.h"
#include "base/url_path.h"
#include "transport/session.h"
#include "wire/http_limits.h"

namespace sluice::api {

/// The limits behind `?algorithm=`, which need no rules.
class DefaultLimits {
 public:
  /// 100 with 10 per second; 10 per second with a queue of 100; 100 per 60 seconds.
  DefaultLimits();

  /// Null: that algorithm can't be asked for by its name alone.
  [[nodiscard]] const Limit* Find(Algorithm algorithm) const;

 private:
  std::array<std::optional<Limit>, kAlgorithmNames.size()> limits_;
};

/// A header of a trusted proxy that becomes an attribute.
struct ProxyHeader {
  std::string header;
  std::string attribute;  ///< "cost": the call's own cost.
};

struct HttpOptions {
  wire::HttpLimits limits;
  /// Requests of one session that may wait for a store.
  std::size_t max_pending = transport::kDefaultMaxPending;
  HeaderStyle header_style = HeaderStyle::kXRateLimit;
  /// Up to so much is added to Retry-After, so that denied clients don't come back together.
  int retry_after_jitter_percent = 0;
  /// Whether requests may bring limits of their own.
  bool limits_in_requests = true;
  RequestLimitBounds request_limits;
  ReceiptOptions receipts;
  /// Where the id of a denial is sent to clients.
  bool denial_id_in_body = true;
  bool denial_id_in_header = false;
  DefaultLimits default_limits;
  std::vector<ProxyHeader> proxy_headers;
  /// Differences of paths that the servers behind proxies ignore.
  PathFolding fold_paths;
  /// Names under which admin routes may be called without a token; see CheckHttpAccess.
  std::vector<std::string> admin_hosts;
  /// Whether there is a dashboard, and whether it takes tokens over plaintext TCP from elsewhere.
  bool dashboard = true;
  bool plaintext_login = false;
  /// For descriptors that name none.
  Micros descriptor_window = std::chrono::seconds(60);
};

}  // namespace sluice::api
