#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <limits>
#include <utility>

#include "net/address.h"
#include "redis/url.h"
#include "server/config.h"
#include "server/identity_settings.h"
#include "server/setting_values.h"

namespace sluice::server {
namespace {

// The password of a URL stands between the first colon after "://" and the last '@' before the
// path.
std::string WithoutPassword(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const auto begin = scheme + 3;
  const auto at = url.substr(0, url.find_first_of("/?", begin)).rfind('@');
  if (at == std::string::npos) return url;
  const auto colon = url.find(':', begin);
  if (colon > at) return url;
  return url.substr(0, colon + 1) + "********" + url.substr(at);
}

constexpr std::size_t kMany = std::numeric_limits<std::int64_t>::max();

// The section of one protocol. Its names are written out, so that they can be searched for.
template <auto Section>
constexpr std::array<Setting, 6> TlsSection(const std::array<std::string_view, 6>& names,
                                            std::string_view flag) {
  return {{
      {names[0], flag, "ADDRESS[,…]", "Where it is spoken with TLS.", false,
       SetAddresses<Section, &TlsSettings::listen>, GetList<Section, &TlsSettings::listen>},
      {names[1], "", "FILE", "The certificate and its chain, PEM.", false,
       SetText<Section, &TlsSettings::certificate>, GetText<Section, &TlsSettings::certificate>},
      {names[2], "", "FILE", "Its private key, PEM. Without it, in the certificate's file.", false,
       SetText<Section, &TlsSettings::key>, GetText<Section, &TlsSettings::key>},
      {names[3], "", "1.2|1.3", "The oldest version of TLS that is spoken.", false,
       [](Config& config, std::string_view text) {
         return ReadOneOf(text, {"1.2", "1.3"}, (config.*Section).minimum_version);
       },
       GetText<Section, &TlsSettings::minimum_version>},
      {names[4], "", "off|optional|required", "Whether clients show certificates.", false,
       [](Config& config, std::string_view text) {
         return ReadOneOf(text, {"off", "optional", "required"},
                          (config.*Section).client_certificates);
       },
       GetText<Section, &TlsSettings::client_certificates>},
      {names[5], "", "FILE", "Whose certificates of clients are good, PEM.", false,
       SetText<Section, &TlsSettings::client_ca>, GetText<Section, &TlsSettings::client_ca>},
  }};
}

template <std::size_t... Sizes>
constexpr auto Joined(const std::array<Setting, Sizes>&... parts) {
  std::array<Setting, (Sizes + ...)> all{};
  auto* next = all.begin();
  ((next = std::copy(parts.begin(), parts.end(), next)), ...);
  return all;
}

constexpr auto kPlainSettings = std::to_array<Setting>({
    {"http.listen", "http", "ADDRESS[,…]",
     "Where HTTP is spoken: 127.0.0.1:8080, [::1]:8080, :8080 "
     "(every address), unix:/path, or none.",
     false, SetAddresses<&Config::http_listen>, GetList<&Config::http_listen>},
    {"http.headers", "", "STYLE", "x-ratelimit, draft-6, draft-7, draft-10 or none.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"x-ratelimit", "draft-6", "draft-7", "draft-10", "none"},
                        config.header_style);
     },
     GetText<&Config::header_style>},
    {"http.retry_after_jitter", "", "PERCENT",
     "So much is added to Retry-After at random, so that "
     "denied clients don't come back together.",
     false, SetNumber<&Config::retry_after_jitter_percent, 0, 1000>,
     GetNumber<&Config::retry_after_jitter_percent>},
    {"http.limits_in_requests", "", "true|false", "Whether requests may bring limits of their own.",
     false, SetFlag<&Config::limits_in_requests>, GetFlag<&Config::limits_in_requests>},
    {"http.proxy_protocol", "", "true|false",
     "Whether trusted proxies begin with the PROXY protocol.", false,
     SetFlag<&Config::http_proxy_protocol>, GetFlag<&Config::http_proxy_protocol>},
    {"forward_auth.headers", "", "HEADER=ATTRIBUTE[,…]",
     "What trusted proxies say of calls in headers of their own.", false, SetProxyHeaders,
     [](const Config& config) { return PrintPairs(config.forward_auth_headers); }},
    {"resp.listen", "resp", "ADDRESS[,…]", "Where the Redis protocol is spoken.", false,
     SetAddresses<&Config::resp_listen>, GetList<&Config::resp_listen>},
    {"resp.proxy_protocol", "", "true|false", "The same where the Redis protocol is spoken.", false,
     SetFlag<&Config::resp_proxy_protocol>, GetFlag<&Config::resp_proxy_protocol>},
    {"grpc.listen", "grpc", "ADDRESS[,…]", "Where gRPC is spoken.", false,
     SetAddresses<&Config::grpc_listen>, GetList<&Config::grpc_listen>},
    {"grpc.proxy_protocol", "", "true|false", "The same where gRPC is spoken.", false,
     SetFlag<&Config::grpc_proxy_protocol>, GetFlag<&Config::grpc_proxy_protocol>},
    {"grpc.deadline", "", "DURATION",
     "How long a call waits for the store if its client does not say; 0s: store_deadline.", false,
     SetDuration<&Config::grpc_deadline>, GetDuration<&Config::grpc_deadline>},
    {"grpc.max_message_bytes", "", "BYTES", "Of one message, also once it is decompressed.", false,
     SetNumber<&Config::grpc_max_message_bytes, 64, 1 << 30>,
     GetNumber<&Config::grpc_max_message_bytes>},
    {"grpc.max_streams", "", "N", "Calls of one connection at once.", false,
     SetNumber<&Config::grpc_max_streams, 1, 1'000'000>, GetNumber<&Config::grpc_max_streams>},
    {"grpc.max_connection_age", "", "DURATION",
     "Then clients are asked to connect again; 0s: never.", false,
     SetDuration<&Config::grpc_max_connection_age>, GetDuration<&Config::grpc_max_connection_age>},
    {"grpc.max_connection_age_grace", "", "DURATION",
     "For calls under way then; 0s: as long as they take.", false,
     SetDuration<&Config::grpc_max_connection_age_grace>,
     GetDuration<&Config::grpc_max_connection_age_grace>},
    {"grpc.keepalive_interval", "", "DURATION",
     "A client that is silent for so long is pinged; 0s: never.", false,
     SetDuration<&Config::grpc_keepalive_interval>, GetDuration<&Config::grpc_keepalive_interval>},
    {"grpc.keepalive_timeout", "", "DURATION", "For its answer; then the connection ends.", false,
     SetDuration<&Config::grpc_keepalive_timeout>, GetDuration<&Config::grpc_keepalive_timeout>},
    {"threads", "", "N", "Event loops; 0 is one for each core.", false,
     SetNumber<&Config::threads, 0, 1024>, GetNumber<&Config::threads>},
    {"rules", "", "FILE", "The rules. Without it, the example rules.", false,
     SetText<&Config::rules>, GetText<&Config::rules>},
    {"envoy.config", "", "DIR", "The configuration files of Envoy's rate limit service.", false,
     SetText<&Config::envoy_config>, GetText<&Config::envoy_config>},
    {"envoy.merge_domains", "", "true|false", "Whether several files may describe one domain.",
     false, SetFlag<&Config::envoy_merge_domains>, GetFlag<&Config::envoy_merge_domains>},
    {"envoy.rule_domains", "", "DOMAIN[,…]",
     "Envoy's domains that the rules judge; * for all that envoy.config has not.", false,
     SetList<&Config::envoy_rule_domains>, GetList<&Config::envoy_rule_domains>},
    {"envoy.response_headers", "", "STYLE",
     "What Envoy adds to responses: none, ratelimit (as the original), or a style of http.headers.",
     false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text,
                        {"none", "ratelimit", "x-ratelimit", "draft-6", "draft-7", "draft-10"},
                        config.envoy_response_headers);
     },
     GetText<&Config::envoy_response_headers>},
    {"enforcement", "", "on|shadow|off",
     "Whether limits deny, are only judged, or are not looked at.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"on", "shadow", "off"}, config.enforcement);
     },
     GetText<&Config::enforcement>},
    {"store", "", "memory|URL",
     "Where limits live: memory, or redis://…, rediss://…, unix://…, redis-sentinel://…, "
     "redis-cluster://….",
     false,
     [](Config& config, std::string_view text) -> Mistake {
       if (text != "memory") {
         if (const auto options = redis::ParseUrl(text); !options) return options.error().message;
       }
       config.store = text;
       return std::nullopt;
     },
     [](const Config& config) { return WithoutPassword(config.store); }},
    {"redis_file", "", "FILE", "Where Redis is, as YAML; in place of a URL.", false,
     SetText<&Config::redis_file>, GetText<&Config::redis_file>},
    {"store_deadline", "", "DURATION", "How long a check waits for Redis.", false,
     SetDuration<&Config::store_deadline>, GetDuration<&Config::store_deadline>},
    {"failover.servers", "", "N",
     "Servers that divide local limits among them while Redis fails; 0: as many as were seen in "
     "Redis.",
     false, SetNumber<&Config::servers, 0, 100'000>, GetNumber<&Config::servers>},
    {"failover.calls_per_second", "", "N",
     "What open rules let pass of one address while Redis fails; 0: everything.", false,
     SetNumber<&Config::emergency_per_second, 0, 1'000'000'000>,
     GetNumber<&Config::emergency_per_second>},
    {"memory.max_keys", "", "N",
     "Keys that matter held in memory; past it, new ones get their rule's "
     "failure mode.",
     false, SetNumber<&Config::memory_max_keys, 1, 10'000'000'000>,
     GetNumber<&Config::memory_max_keys>},
    {"memory.max_bytes", "", "BYTES", "Ceiling for what keys occupy; 0: what max_keys needs.",
     false, SetNumber<&Config::memory_max_bytes, 0, kMany>, GetNumber<&Config::memory_max_bytes>},
    {"admin.token", "", "TOKEN",
     "Who shows it may reset, grant and inspect. Without one, local "
     "clients may.",
     true, SetText<&Config::admin_token>, GetText<&Config::admin_token>},
    {"admin.token_file", "", "FILE", "A file with the token.", false,
     SetText<&Config::admin_token_file>, GetText<&Config::admin_token_file>},
    {"receipts.secret_file", "", "FILE",
     "A file with the secret that receipts are signed with. "
     "Without it, each start makes its own.",
     false, SetText<&Config::receipt_secret_file>, GetText<&Config::receipt_secret_file>},
    {"limits.connections", "", "N", "Connections in all; 0: no bound.", false,
     SetNumber<&Config::max_connections, 0, kMany>, GetNumber<&Config::max_connections>},
    {"limits.connections_per_address", "", "N", "Connections of one address; 0: no bound.", false,
     SetNumber<&Config::max_connections_per_address, 0, kMany>,
     GetNumber<&Config::max_connections_per_address>},
    {"limits.header_bytes", "", "BYTES", "Of one HTTP request's headers.", false,
     SetNumber<&Config::max_header_bytes, 256, 1 << 20>, GetNumber<&Config::max_header_bytes>},
    {"limits.body_bytes", "", "BYTES", "Of one HTTP request's body.", false,
     SetNumber<&Config::max_body_bytes, 0, 1 << 30>, GetNumber<&Config::max_body_bytes>},
    {"limits.pipelined", "", "N", "Requests of one connection that wait for the store.", false,
     SetNumber<&Config::max_pipelined, 1, 1'000'000>, GetNumber<&Config::max_pipelined>},
    {"limits.output_bytes", "", "BYTES", "Answers that one client has not taken.", false,
     SetNumber<&Config::max_output_bytes, 4096, kMany>, GetNumber<&Config::max_output_bytes>},
    {"limits.idle_timeout", "", "DURATION", "For a client that asks nothing; 0s: for ever.", false,
     SetDuration<&Config::idle_timeout>, GetDuration<&Config::idle_timeout>},
    {"limits.request_timeout", "", "DURATION", "From a request's first byte to its last.", false,
     SetDuration<&Config::request_timeout>, GetDuration<&Config::request_timeout>},
    {"drain_timeout", "", "DURATION", "For requests under way when the server ends.", false,
     SetDuration<&Config::drain_timeout>, GetDuration<&Config::drain_timeout>},
    {"log.format", "", "text|json", "How log lines are written.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"text", "json"}, config.log_format);
     },
     GetText<&Config::log_format>},
    {"log.level", "", "LEVEL", "error, warn, info or debug.", false,
     [](Config& config, std::string_view text) {
       return ReadOneOf(text, {"error", "warn", "info", "debug"}, config.log_level);
     },
     GetText<&Config::log_level>},
    {"metrics.labels", "", "NAME=VALUE[,…]", "Labels of every metric.", false,
     [](Config& config, std::string_view text) {
       return ReadPairs(text, "region=eu", config.metrics_labels);
     },
     [](const Config& config) { return PrintPairs(config.metrics_labels); }},
});

constexpr auto kSettings =
    Joined(kPlainSettings, kIdentitySettings,
           TlsSection<&Config::http_tls>(
               {"http_tls.listen", "http_tls.certificate", "http_tls.key",
                "http_tls.minimum_version", "http_tls.client_certificates", "http_tls.client_ca"},
               "http-tls"),
           TlsSection<&Config::resp_tls>(
               {"resp_tls.listen", "resp_tls.certificate", "resp_tls.key",
                "resp_tls.minimum_version", "resp_tls.client_certificates", "resp_tls.client_ca"},
               "resp-tls"),
           TlsSection<&Config::grpc_tls>(
               {"grpc_tls.listen", "grpc_tls.certificate", "grpc_tls.key",
                "grpc_tls.minimum_version", "grpc_tls.client_certificates", "grpc_tls.client_ca"},
               "grpc-tls"));

}  // namespace

std::span<const Setting> Settings() { return kSettings; }

std::string Setting::flag() const {
  std::string text = "--" + std::string(name);
  std::replace_if(text.begin(), text.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return text;
}

std::string Setting::variable() const {
  std::string text = "SLUICE_" + std::string(name);
  for (char& c : text) c = c == '.' ? '_' : static_cast<char>(std::toupper(c));
  return text;
}

}  // namespace sluice::server
