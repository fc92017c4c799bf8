#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/rate_limit_headers.h"
#include "api/limit_cache.h"
#include "base/live.h"
#include "envoy/config.h"
#include "envoy/negative_hits.h"

namespace sluice::api {

struct EnvoyOptions {
  /// Domains whose descriptors our own rules judge; "*": all that the configuration does not have.
  std::vector<std::string> rule_domains{};
  /// Adds RateLimit-Limit, -Remaining and -Reset to answers, as envoyproxy/ratelimit does.
  bool ratelimit_headers = false;
  /// Else: adds what the HTTP listener would, in this style.
  HeaderStyle header_style = HeaderStyle::kNone;
  RequestLimitBounds request_limits{};
  envoy::NegativeHits negative_hits = envoy::NegativeHits::kEnvoyDomains;
};

/// State shared by the calls of Envoy's service on one loop; used on that loop's thread only.
class EnvoyState {
 public:
  /// `live` must outlive it.
  EnvoyState(const Live<envoy::Config>& live, EnvoyOptions options)
      : config_(live), options_(std::move(options)), limits_(options_.request_limits) {}
  EnvoyState(const EnvoyState&) = delete;
  EnvoyState& operator=(const EnvoyState&) = delete;

  /// The active configuration; empty if there is none.
  const Snapshot<envoy::Config>& Config() { return config_.Get(); }
  [[nodiscard]] const EnvoyOptions& options() const { return options_; }
  /// Cache of the limits in requests.
  [[nodiscard]] LimitCache& limits() { return limits_; }

  [[nodiscard]] bool IsRuleDomain(std::string_view domain, bool is_configured) const {
    for (const std::string& name : options_.rule_domains) {
      if (name == domain || (name == "*" && !is_configured)) return true;
    }
    return false;
  }

 private:
  LiveReader<envoy::Config> config_;
  const EnvoyOptions options_;
  LimitCache limits_;
};

}  // namespace sluice::api
