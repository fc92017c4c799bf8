#include "server/identity_settings.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace sluice::server {

Mistake SetSources(Config& config, std::string_view text) {
  std::vector<std::string> sources = SplitList(text);
  for (const std::string& source : sources) {
    if (const auto parsed = identity::ParseSource(source); !parsed) return parsed.error().message;
  }
  config.identity.sources = std::move(sources);
  return std::nullopt;
}

Mistake SetTrustedProxies(Config& config, std::string_view text) {
  std::vector<std::string> proxies = SplitList(text);
  if (const auto parsed = identity::TrustedProxies::Parse(proxies); !parsed) {
    return parsed.error().message;
  }
  config.identity.trusted_proxies = std::move(proxies);
  return std::nullopt;
}

Mistake SetProxyHeaders(Config& config, std::string_view text) {
  constexpr std::array<std::string_view, 10> kNotTheirs = {
      "",         "api_key", "api_key_hash", "ip",          "ip_network",
      "endpoint", "method",  "host",         "tls_subject", "tls_cn"};
  Pairs headers;
  if (auto mistake = ReadPairs(text, "X-Tier=tier", headers)) return mistake;
  for (const auto& [header, attribute] : headers) {
    if (std::find(kNotTheirs.begin(), kNotTheirs.end(), attribute) == kNotTheirs.end()) continue;
    return Quoted(header) + ": `" + attribute + "` is found out in another way";
  }
  config.forward_auth_headers = std::move(headers);
  return std::nullopt;
}

Mistake SetTokenSource(Config& config, std::string_view text) {
  if (const auto parsed = identity::ParseSource(text); !parsed) return parsed.error().message;
  config.identity.jwt_from = text;
  return std::nullopt;
}

identity::IdentityOptions IdentityOptionsOf(const IdentitySettings& settings) {
  identity::IdentityOptions options;
  options.sources.clear();
  for (const std::string& source : settings.sources) {
    options.sources.push_back(*identity::ParseSource(source));
  }
  options.trusted_proxies = settings.trusted_proxies;
  options.address_header =
      identity::ParseAddressHeader(settings.address_header).value_or(options.address_header);
  options.ipv6_prefix = static_cast<int>(settings.ipv6_prefix);
  options.hash_keys = settings.hash_keys;
  options.hash_secret_file = settings.hash_secret_file;
  options.jwt.from = *identity::ParseSource(settings.jwt_from);
  options.jwt.key_files = settings.jwt_key_files;
  options.jwt.secret_file = settings.jwt_secret_file;
  options.jwt.on_invalid = settings.jwt_on_invalid == "anonymous"
                               ? identity::OnInvalidToken::kAnonymous
                               : identity::OnInvalidToken::kRefuse;
  identity::JwtRules& rules = options.jwt.rules;
  rules.unverified = settings.jwt_unverified;
  rules.claims.clear();
  for (const auto& [claim, attribute] : settings.jwt_claims) {
    rules.claims.push_back({claim, attribute});
  }
  rules.issuer = settings.jwt_issuer;
  rules.audience = settings.jwt_audience;
  rules.require_expiry = settings.jwt_require_expiry;
  rules.leeway = settings.jwt_leeway;
  return options;
}

}  // namespace sluice::server
