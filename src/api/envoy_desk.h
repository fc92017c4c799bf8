#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answer/rate_limit_headers.h"
#include "api/limit_cache.h"
#include "envoy/live_config.h"

namespace sluice::api {

struct EnvoyOptions {
  /// Domains whose descriptors our own rules judge; "*": all that the configuration does not have.
  std::vector<std::string> rule_domains{};
  /// Adds RateLimit-Limit, -Remaining and -Reset to answers, as envoyproxy/ratelimit does.
  bool ratelimit_headers = false;
  /// Else: adds what the HTTP listener would, in this style.
  HeaderStyle header_style = HeaderStyle::kNone;
};

/// What the calls of Envoy's service on one loop share. On that loop's thread only.
class EnvoyDesk {
 public:
  /// `live` must outlive it.
  EnvoyDesk(const envoy::LiveConfig& live, EnvoyOptions options)
      : config_(live), options_(std::move(options)) {}
  EnvoyDesk(const EnvoyDesk&) = delete;
  EnvoyDesk& operator=(const EnvoyDesk&) = delete;

  /// The configuration in force; null if there is none. Good until it has changed twice, so that a
  /// call that is asked together with others may point into it.
  const envoy::Config* Config() {
    if (config_.Get() != held_.get()) {
      before_ = std::move(held_);
      held_ = config_.held();
    }
    return held_.get();
  }
  /// What keeps alive what Config gave.
  [[nodiscard]] const std::shared_ptr<const envoy::Config>& Hold(
      const envoy::Config* config) const {
    return config == held_.get() ? held_ : before_;
  }
  [[nodiscard]] const EnvoyOptions& options() const { return options_; }
  /// Those that requests have brought.
  [[nodiscard]] LimitCache& limits() { return limits_; }

  [[nodiscard]] bool IsRuleDomain(std::string_view domain, bool is_configured) const {
    for (const std::string& name : options_.rule_domains) {
      if (name == domain || (name == "*" && !is_configured)) return true;
    }
    return false;
  }

 private:
  envoy::ConfigReader config_;
  std::shared_ptr<const envoy::Config> held_, before_;
  const EnvoyOptions options_;
  LimitCache limits_;
};

}  // namespace sluice::api
