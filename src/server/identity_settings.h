#pragma once

#include <array>
#include <string_view>

#include <sluice/result.h>

#include "identity/options.h"
#include "server/setting_values.h"

/// The settings of who calls: docs/identity.md explains them.
namespace sluice::server {

/// What they come to.
[[nodiscard]] identity::IdentityOptions IdentityOptionsOf(const IdentitySettings& settings);

Mistake SetSources(Config& config, std::string_view text);
Mistake SetTrustedProxies(Config& config, std::string_view text);
/// What a proxy may tell in headers of its own is everything but what is found out otherwise.
Mistake SetProxyHeaders(Config& config, std::string_view text);
Mistake SetTokenSource(Config& config, std::string_view text);

inline constexpr auto kIdentitySettings = std::to_array<Setting>({
    {"identity.sources", "", "SOURCE[,…]",
     "Where a call's key is looked for, in this order: header:<name>, bearer, query:<name>, "
     "cookie:<name>, jwt.",
     false, SetSources, GetList<&Config::identity, &IdentitySettings::sources>},
    {"identity.trusted_proxies", "trusted-proxies", "NETWORK[,…]",
     "Whose word about addresses is taken: addresses, networks, unix.", false, SetTrustedProxies,
     GetList<&Config::identity, &IdentitySettings::trusted_proxies>},
    {"identity.address_header", "", "HEADER",
     "In which they tell the client's address: x-forwarded-for, x-real-ip, forwarded or none.",
     false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"x-forwarded-for", "x-real-ip", "forwarded", "none"},
                        config.identity.address_header);
     },
     GetText<&Config::identity, &IdentitySettings::address_header>},
    {"identity.ipv6_prefix", "", "BITS", "IPv6 clients that begin with the same bits count as one.",
     false,
     [](Config& config, std::string_view text) {
       return ReadNumber(text, 1, 128, config.identity.ipv6_prefix);
     },
     [](const Config& config) { return std::to_string(config.identity.ipv6_prefix); }},
    {"identity.hash_keys", "", "true|false", "Whether keys are stored and shown as hashes only.",
     false, SetFlag<&Config::identity, &IdentitySettings::hash_keys>,
     GetFlag<&Config::identity, &IdentitySettings::hash_keys>},
    {"identity.hash_secret_file", "", "FILE", "A file with the secret that these are made with.",
     false, SetText<&Config::identity, &IdentitySettings::hash_secret_file>,
     GetText<&Config::identity, &IdentitySettings::hash_secret_file>},
    {"identity.jwt.from", "", "SOURCE", "Where a token is looked for.", false, SetTokenSource,
     GetText<&Config::identity, &IdentitySettings::jwt_from>},
    {"identity.jwt.key_files", "", "FILE[,…]", "Keys that tokens are checked with: PEM or JWKS.",
     false, SetList<&Config::identity, &IdentitySettings::jwt_key_files>,
     GetList<&Config::identity, &IdentitySettings::jwt_key_files>},
    {"identity.jwt.secret_file", "", "FILE", "A file with the secret of HS256.", false,
     SetText<&Config::identity, &IdentitySettings::jwt_secret_file>,
     GetText<&Config::identity, &IdentitySettings::jwt_secret_file>},
    {"identity.jwt.unverified", "", "true|false", "Somebody in front has checked the tokens.",
     false, SetFlag<&Config::identity, &IdentitySettings::jwt_unverified>,
     GetFlag<&Config::identity, &IdentitySettings::jwt_unverified>},
    {"identity.jwt.claims", "", "CLAIM=ATTRIBUTE[,…]", "Which claim becomes which attribute.",
     false,
     [](Config& config, std::string_view text) {
       return ReadPairs(text, "sub=api_key", config.identity.jwt_claims);
     },
     [](const Config& config) { return PrintPairs(config.identity.jwt_claims); }},
    {"identity.jwt.issuer", "", "TEXT", "What a token's iss must be.", false,
     SetText<&Config::identity, &IdentitySettings::jwt_issuer>,
     GetText<&Config::identity, &IdentitySettings::jwt_issuer>},
    {"identity.jwt.audience", "", "TEXT", "What a token's aud must have.", false,
     SetText<&Config::identity, &IdentitySettings::jwt_audience>,
     GetText<&Config::identity, &IdentitySettings::jwt_audience>},
    {"identity.jwt.require_expiry", "", "true|false", "Whether a token must have an exp.", false,
     SetFlag<&Config::identity, &IdentitySettings::jwt_require_expiry>,
     GetFlag<&Config::identity, &IdentitySettings::jwt_require_expiry>},
    {"identity.jwt.leeway", "", "DURATION", "For clocks that differ.", false,
     [](Config& config, std::string_view text) {
       return ReadDuration(text, config.identity.jwt_leeway);
     },
     [](const Config& config) { return PrintDuration(config.identity.jwt_leeway); }},
    {"identity.jwt.on_invalid", "", "refuse|anonymous",
     "Whether a call with a token that is not valid is refused, or nobody's.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"refuse", "anonymous"}, config.identity.jwt_on_invalid);
     },
     GetText<&Config::identity, &IdentitySettings::jwt_on_invalid>},
});

}  // namespace sluice::server
