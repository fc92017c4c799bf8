#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <utility>

#include <sluice/limit.h>

#include "base/ascii.h"
#include "base/host_name.h"
#include "identity/access_token.h"
#include "identity/client_address.h"
#include "net/address.h"
#include "redis/url.h"
#include "settings/setting.h"
#include "settings/setting_values.h"

namespace sluice::settings {
namespace {

constexpr std::size_t kNoMaximum = std::numeric_limits<std::int64_t>::max();

// Masks the password of a URL: the text between the first colon after "://" and the last '@' before
// the path. A Sentinel URL has the name of the primary between its last two '@'.
std::string WithoutPassword(const std::string& url) {
  const auto scheme = url.find("://");
  if (scheme == std::string::npos) return url;
  const auto begin = scheme + 3;
  const std::string authority = url.substr(0, url.find_first_of("/?", begin));
  auto at = authority.rfind('@');
  const auto colon = authority.find(':', begin);
  if (at == std::string::npos || colon > at) return url;
  if (url.substr(0, scheme).ends_with("-sentinel")) {
    // Without a second '@' the URL is invalid, and the text before the first may be a password.
    if (const auto name = authority.rfind('@', at - 1); name > colon && name < at) at = name;
  }
  if (colon + 1 == at) return url;
  return url.substr(0, colon + 1) + "********" + url.substr(at);
}

Problem CheckAddresses(const std::vector<std::string>& addresses) {
  for (const std::string& address : addresses) {
    if (const auto parsed = net::ParseListenAddress(address); !parsed) {
      return parsed.error().message;
    }
  }
  return std::nullopt;
}

Problem CheckTrustedProxies(const std::vector<std::string>& proxies) {
  const auto parsed = identity::TrustedProxies::Parse(proxies);
  return parsed ? std::nullopt : Problem(parsed.error().message);
}

// A proxy may set every attribute except those that the server determines itself.
Problem CheckProxyHeaders(const Pairs& headers) {
  constexpr std::array<std::string_view, 10> kOwn = {
      "",         "api_key", "api_key_hash", "ip",          "ip_network",
      "endpoint", "method",  "host",         "tls_subject", "tls_cn"};
  for (const auto& [header, attribute] : headers) {
    if (std::find(kOwn.begin(), kOwn.end(), attribute) == kOwn.end()) continue;
    return Quoted(header) + ": a header can't set the attribute `" + attribute + "`";
  }
  return std::nullopt;
}

Problem CheckStore(const std::string& url) {
  if (url == "memory") return std::nullopt;
  const auto options = redis::ParseUrl(url);
  return options ? std::nullopt : Problem(options.error().message);
}

Problem CheckToken(const std::string& token) {
  return token.empty() ? std::nullopt : AdminTokenProblem(token);
}

// The name is part of keys in Redis and of file names.
Problem CheckNamespace(const std::string& name) {
  constexpr std::size_t kLongest = 64;
  const bool has_valid_bytes = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
  });
  if (!name.empty() && name.size() <= kLongest && has_valid_bytes) return std::nullopt;
  return Quoted(name) + " is not a name of 1 to 64 letters, digits, '-', '_' and '.'";
}

Problem CheckDirectory(const std::string& path) {
  return path.empty() ? Problem("must name a directory") : std::nullopt;
}

constexpr Access kMaxNewlyDenied{
    [](Config& config, std::string_view text) {
      return ReadPercentage(text, config.guard.max_newly_denied);
    },
    [](const Config& config) { return PrintPercentage(config.guard.max_newly_denied); }};

constexpr Access kStore{kChecked<CheckStore, &Config::store, &StoreSettings::url>.set,
                        [](const Config& config) { return WithoutPassword(config.store.url); }};

constexpr Access kAdminHosts{[](Config& config, std::string_view text) -> Problem {
                               std::string buffer;
                               config.admin.hosts.clear();
                               for (const std::string& item : SplitList(text)) {
                                 config.admin.hosts.emplace_back(NormalizeHost(item, buffer));
                               }
                               return std::nullopt;
                             },
                             [](const Config& config) { return Print(config.admin.hosts); }};

Problem ReadRole(std::string_view text, identity::Role& role) {
  const auto read = identity::ParseRole(text);
  if (!read) return Quoted(text) + " is none of checker viewer operator editor admin";
  role = *read;
  return std::nullopt;
}

// "CN=alice,O=Example:editor; CN=bob:viewer": subjects have commas, so items end with semicolons.
constexpr Access kCertificates{
    [](Config& config, std::string_view text) -> Problem {
      std::vector<std::pair<std::string, identity::Role>> read;
      if (text == "none") text = {};
      while (!text.empty()) {
        const std::string_view item = TrimBlanks(text.substr(0, text.find(';')));
        text.remove_prefix(std::min(text.size(), text.find(';')));
        if (!text.empty()) text.remove_prefix(1);
        const auto colon = item.rfind(':');
        if (colon == 0 || colon == std::string_view::npos) {
          return Quoted(item) + " is not of the form SUBJECT:ROLE";
        }
        identity::Role role{};
        if (auto problem = ReadRole(item.substr(colon + 1), role)) return problem;
        read.emplace_back(item.substr(0, colon), role);
      }
      config.admin.certificates = std::move(read);
      return std::nullopt;
    },
    [](const Config& config) {
      std::string text;
      for (const auto& [subject, role] : config.admin.certificates) {
        text.append(text.empty() ? "" : "; ").append(subject).append(":").append(LabelOf(role));
      }
      return text.empty() ? std::string("none") : text;
    }};

constexpr Access kJwtRoles{[](Config& config, std::string_view text) -> Problem {
                             Pairs pairs;
                             if (auto problem = Read(text, pairs)) return problem;
                             std::vector<std::pair<std::string, identity::Role>> read;
                             for (const auto& [value, name] : pairs) {
                               identity::Role role{};
                               if (auto problem = ReadRole(name, role)) return problem;
                               read.emplace_back(value, role);
                             }
                             config.admin.jwt.roles = std::move(read);
                             return std::nullopt;
                           },
                           [](const Config& config) {
                             Pairs pairs;
                             for (const auto& [value, role] : config.admin.jwt.roles) {
                               pairs.emplace_back(value, LabelOf(role));
                             }
                             return Print(pairs);
                           }};

constexpr Access kReceiptLifetime{
    [](Config& config, std::string_view text) -> Problem {
      constexpr int kMostDays = 31;
      Micros lifetime{0};
      if (auto problem = ReadDuration(text, lifetime, kMostDays)) return problem;
      if (lifetime < std::chrono::seconds(1)) return Quoted(text) + " is less than 1s";
      config.receipts.lifetime = lifetime;
      return std::nullopt;
    },
    [](const Config& config) { return Print(config.receipts.lifetime); }};

constexpr Access kMaxRefillTime{
    [](Config& config, std::string_view text) {
      return ReadDuration(text, config.request_limits.max_refill_time, 36'500);
    },
    [](const Config& config) { return Print(config.request_limits.max_refill_time); }};

constexpr Access kConnectionsPerAddress{
    [](Config& config, std::string_view text) -> Problem {
      std::optional<std::size_t>& field = config.limits.connections_per_address;
      field.reset();
      if (text == "half") return std::nullopt;
      if (auto problem = ReadNumber(text, 0, kNoMaximum, field.emplace())) {
        return *problem + ", nor half";
      }
      return std::nullopt;
    },
    [](const Config& config) {
      const auto& number = config.limits.connections_per_address;
      return number ? Print(*number) : std::string("half");
    }};

template <auto kProtocol>
constexpr auto kListener =
    &std::remove_reference_t<decltype(std::declval<Config>().*kProtocol)>::listener;

template <auto kProtocol>
constexpr Access kAddresses =
    kChecked<CheckAddresses, kProtocol, kListener<kProtocol>, &ListenerSettings::listen>;
template <auto kProtocol>
constexpr Access kProxyProtocol =
    kField<kProtocol, kListener<kProtocol>, &ListenerSettings::proxy_protocol>;
template <auto kProtocol, auto kMember>
constexpr Access kTls = kField<kProtocol, kListener<kProtocol>, &ListenerSettings::tls, kMember>;

// The TLS section of one protocol. Names are written out, so that they can be searched for.
template <auto kProtocol>
constexpr std::array<Setting, 6> TlsSection(const std::array<std::string_view, 6>& names,
                                            std::string_view flag) {
  using Tls = net::TlsServerOptions;
  return {{
      {names[0], flag, "ADDRESS[,…]", "Addresses of the TLS listener.",
       kChecked<CheckAddresses, kProtocol, kListener<kProtocol>, &ListenerSettings::tls_listen>},
      {names[1], "", "FILE", "Certificate and chain, PEM.", kTls<kProtocol, &Tls::certificate>},
      {names[2], "", "FILE", "Private key, PEM. Default: in the certificate's file.",
       kTls<kProtocol, &Tls::key>},
      {names[3], "", "1.2|1.3", "Oldest version of TLS.", kTls<kProtocol, &Tls::minimum>},
      {names[4], "", "off|optional|required", "Whether clients present certificates.",
       kTls<kProtocol, &Tls::client_certificates>},
      {names[5], "", "FILE", "Authorities of client certificates, PEM.",
       kTls<kProtocol, &Tls::client_ca>},
  }};
}

template <std::size_t... kSizes>
constexpr auto Joined(const std::array<Setting, kSizes>&... parts) {
  std::array<Setting, (kSizes + ...)> all{};
  auto* next = all.begin();
  ((next = std::copy(parts.begin(), parts.end(), next)), ...);
  return all;
}

using identity::IdentityOptions;
using identity::JwtOptions;
using identity::JwtRules;
template <auto kMember>
constexpr Access kJwt = kField<&Config::identity, &IdentityOptions::jwt, kMember>;
template <auto kMember>
constexpr Access kJwtRule =
    kField<&Config::identity, &IdentityOptions::jwt, &JwtOptions::rules, kMember>;
template <std::size_t kLeast, std::size_t kMost, auto kMember>
constexpr Access kLimit = kNumber<kLeast, kMost, &Config::limits, kMember>;
template <auto kMember>
constexpr Access kGrpc = kField<&Config::grpc, kMember>;

constexpr auto kMainSettings = std::to_array<Setting>({
    {"http.listen", "http", "ADDRESS[,…]",
     "Addresses of the HTTP listener: 127.0.0.1:8080, [::1]:8080, :8080 (every address), "
     "unix:/path, or none.",
     kAddresses<&Config::http>},
    {"http.headers", "", "STYLE",
     "Rate limit headers of responses: x-ratelimit, draft-6, draft-7, draft-10 or none.",
     kField<&Config::http, &HttpSettings::headers>},
    {"http.retry_after_jitter", "", "PERCENT",
     "Random addition to Retry-After, so that denied clients don't return at the same time.",
     kNumber<0, 1000, &Config::http, &HttpSettings::retry_after_jitter_percent>},
    {"http.limits_in_requests", "", "true|false", "Whether requests may contain their own limits.",
     kField<&Config::http, &HttpSettings::limits_in_requests>},
    {"http.proxy_protocol", "", "true|false",
     "Whether trusted proxies start with the PROXY protocol.", kProxyProtocol<&Config::http>},
    {"forward_auth.headers", "", "HEADER=ATTRIBUTE[,…]",
     "Attributes that trusted proxies send in their own headers.",
     kChecked<CheckProxyHeaders, &Config::forward_auth, &ForwardAuthSettings::headers>},
    {"forward_auth.fold_paths", "", "WHAT[,…]",
     "Paths that the servers behind proxies treat as equal: case, parameters, trailing_dots.",
     kField<&Config::forward_auth, &ForwardAuthSettings::fold_paths>},
    {"resp.listen", "resp", "ADDRESS[,…]", "Addresses of the Redis protocol listener.",
     kAddresses<&Config::resp>},
    {"resp.proxy_protocol", "", "true|false", "The same for the Redis protocol.",
     kProxyProtocol<&Config::resp>},
    {"grpc.listen", "grpc", "ADDRESS[,…]", "Addresses of the gRPC listener.",
     kAddresses<&Config::grpc>},
    {"grpc.proxy_protocol", "", "true|false", "The same for gRPC.", kProxyProtocol<&Config::grpc>},
    {"grpc.deadline", "", "DURATION",
     "Store deadline of a call whose client sends none; 0s: store_deadline.",
     kGrpc<&GrpcSettings::deadline>},
    {"grpc.max_message_bytes", "", "BYTES", "Maximum size of a message as sent.",
     kNumber<64, 1 << 30, &Config::grpc, &GrpcSettings::max_message_bytes>},
    {"grpc.max_decompressed_bytes", "", "BYTES",
     "Maximum size of a compressed message after decompression.",
     kNumber<64, 1 << 30, &Config::grpc, &GrpcSettings::max_decompressed_bytes>},
    {"grpc.max_streams", "", "N", "Concurrent calls on one connection.",
     kNumber<1, 1'000'000, &Config::grpc, &GrpcSettings::max_streams>},
    {"grpc.max_connection_age", "", "DURATION",
     "Age at which clients are asked to reconnect; 0s: never.",
     kGrpc<&GrpcSettings::max_connection_age>},
    {"grpc.max_connection_age_grace", "", "DURATION",
     "Time for calls under way at that age; 0s: unlimited.",
     kGrpc<&GrpcSettings::max_connection_age_grace>},
    {"grpc.keepalive_interval", "", "DURATION",
     "Idle time after which a client is pinged; 0s: never.",
     kGrpc<&GrpcSettings::keepalive_interval>},
    {"grpc.keepalive_timeout", "", "DURATION",
     "Time for the reply to a ping; then the connection is closed.",
     kGrpc<&GrpcSettings::keepalive_timeout>},
    {"threads", "", "N", "Event loops; 0: one per core.", kNumber<0, 1024, &Config::threads>},
    {"rules", "", "FILE", "Rule file. Default: the example rules.", kField<&Config::rules>},
    {"rules_source", "", "file|store",
     "Where rules come from: the rule file, or versions in a store that every server can change.",
     kField<&Config::rules_source>},
    {"state_dir", "", "DIR",
     "Directory of versions and records if limits live in memory, else of a copy for a start "
     "without "
     "Redis; with rules_source=file it is created when there is something to store. "
     "Default: $STATE_DIRECTORY, else ./sluice-state.",
     kChecked<CheckDirectory, &Config::state_dir>},
    {"control.namespace", "", "NAME", "Name of the fleet, if several share a Redis.",
     kChecked<CheckNamespace, &Config::control, &ControlSettings::name_space>},
    {"control.require_message", "", "true|false", "Whether a change of the rules needs a message.",
     kField<&Config::control, &ControlSettings::require_message>},
    {"control.traffic_sample", "", "true|false",
     "Whether recent calls are sampled in memory, to predict the impact of a change.",
     kField<&Config::control, &ControlSettings::traffic_sample>},
    {"guard.max_newly_denied", "", "PERCENT|off",
     "Largest share of sampled calls that a change of the rules may newly deny.", kMaxNewlyDenied},
    {"envoy.config", "", "DIR", "Configuration files of Envoy's rate limit service.",
     kField<&Config::envoy, &EnvoySettings::config>},
    {"envoy.merge_domains", "", "true|false", "Whether several files may describe one domain.",
     kField<&Config::envoy, &EnvoySettings::merge_domains>},
    {"envoy.rule_domains", "", "DOMAIN[,…]",
     "Domains that rules evaluate; * for all that envoy.config does not have.",
     kField<&Config::envoy, &EnvoySettings::rule_domains>},
    {"envoy.response_headers", "", "STYLE",
     "Headers that Envoy adds to responses: none, ratelimit (as the original), or a style of "
     "http.headers.",
     kField<&Config::envoy, &EnvoySettings::response_headers>},
    {"enforcement", "", "on|shadow|off",
     "Whether limits deny, are only evaluated and counted, or are ignored.",
     kField<&Config::enforcement>},
    {"store", "", "memory|URL",
     "Where limits are stored: memory, or redis://…, rediss://…, unix://…, redis-sentinel://…, "
     "redis-cluster://….",
     kStore},
    {"redis_file", "", "FILE", "Redis connection as YAML, in place of a URL.",
     kField<&Config::store, &StoreSettings::redis_file>},
    {"store_deadline", "", "DURATION", "How long a check waits for Redis.",
     kField<&Config::store, &StoreSettings::deadline>},
    {"failover.servers", "", "N",
     "Servers that divide local limits among them while Redis fails; 0: as many as were seen in "
     "Redis.",
     kNumber<0, 100'000, &Config::failover, &FailoverSettings::servers>},
    {"failover.calls_per_second", "", "N",
     "Calls of one address that open rules allow while Redis fails; 0: no limit.",
     kNumber<0, 1'000'000'000, &Config::failover, &FailoverSettings::calls_per_second>},
    {"memory.max_keys", "", "N",
     "Maximum number of active keys in memory. When full, new keys are handled by the rule's "
     "when_full.",
     kNumber<1, 10'000'000'000, &Config::memory, &MemorySettings::max_keys>},
    {"memory.max_bytes", "", "BYTES",
     "Maximum memory for keys, including histories; 0: bounded by max_keys only.",
     kNumber<0, kNoMaximum, &Config::memory, &MemorySettings::max_bytes>},
    {"memory.names_bytes", "", "BYTES",
     "Memory for names of keys that were used lately: for lists of keys, resets by selector and "
     "first and last use; 0: none.",
     kNumber<0, 100'000'000'000, &Config::memory, &MemorySettings::names_bytes>},
    {"request_limits.memory_percent", "", "PERCENT",
     "Share of memory.max_keys and memory.max_bytes for keys of limits in requests.",
     kNumber<0, 100, &Config::request_limits, &RequestLimitSettings::memory_percent>},
    {"request_limits.redis_keys", "", "N",
     "Keys that this server may create in Redis for limits in requests; 0: no maximum.",
     kNumber<0, 4'000'000'000, &Config::request_limits, &RequestLimitSettings::redis_keys>},
    {"request_limits.max_refill_time", "", "DURATION",
     "Longest refill time of a limit in a request.", kMaxRefillTime},
    {"request_limits.max_log_entries", "", "N", "Largest sliding window log in a request.",
     kNumber<1, kMaxLogLimit, &Config::request_limits, &RequestLimitSettings::max_log_entries>},
    {"request_limits.max_slots", "", "N", "Largest concurrency limit in a request.",
     kNumber<1, kMaxSlots, &Config::request_limits, &RequestLimitSettings::max_slots>},
    {"admin.token", "", "TOKEN",
     "Bearer token for admin requests. Without one, only local clients may send them.",
     kChecked<CheckToken, &Config::admin, &AdminSettings::token>, true},
    {"admin.token_file", "", "FILE", "File with the admin token.",
     kField<&Config::admin, &AdminSettings::token_file>},
    {"admin.hosts", "", "NAME[,…]",
     "Host names, besides localhost and addresses, of admin requests without a token.",
     kAdminHosts},
    {"admin.dashboard", "", "true|false", "Whether the dashboard is served, at /dashboard/.",
     kField<&Config::admin, &AdminSettings::dashboard>},
    {"admin.plaintext_login", "", "true|false",
     "Whether the dashboard takes tokens over plaintext TCP from other machines.",
     kField<&Config::admin, &AdminSettings::plaintext_login>},
    {"admin.listen", "admin", "ADDRESS[,…]",
     "Addresses of a listener of its own for /admin, /dashboard and /metrics. Default: none; the "
     "HTTP listener serves them.",
     kAddresses<&Config::admin>},
    {"admin.certificates", "", "SUBJECT:ROLE[;…]",
     "Roles of clients by the whole subject (RFC 2253) of their TLS certificate.", kCertificates},
    {"admin.jwt.key_files", "", "FILE[,…]",
     "Keys of tokens (JWT) that give roles: PEM or JWKS. Never those of identity.jwt.",
     kField<&Config::admin, &AdminSettings::jwt, &identity::JwtRoleOptions::key_files>},
    {"admin.jwt.issuer", "", "TEXT", "Their issuer (iss); required with key_files.",
     kField<&Config::admin, &AdminSettings::jwt, &identity::JwtRoleOptions::issuer>},
    {"admin.jwt.audience", "", "TEXT", "Their audience (aud); required with key_files.",
     kField<&Config::admin, &AdminSettings::jwt, &identity::JwtRoleOptions::audience>},
    {"admin.jwt.claim", "", "CLAIM", "The claim that gives the role.",
     kField<&Config::admin, &AdminSettings::jwt, &identity::JwtRoleOptions::claim>},
    {"admin.jwt.roles", "", "VALUE=ROLE[,…]",
     "Roles by the value of the claim. Default: the value is the name of a role.", kJwtRoles},
    {"checks.require_token", "", "true|false",
     "Whether checks over HTTP, the Redis protocol and gRPC need a token with the role checker.",
     kField<&Config::checks, &CheckSettings::require_token>},
    {"receipts.secret_file", "", "FILE",
     "File with the key that signs receipts. Default: random, per process.",
     kField<&Config::receipts, &ReceiptSettings::secret_file>},
    {"receipts.lifetime", "", "DURATION", "How long a receipt can be settled or canceled.",
     kReceiptLifetime},
    {"receipts.max_settled_per_key", "", "N",
     "Settled receipts remembered per key until they expire; beyond it settle and cancel return "
     "503.",
     kNumber<1, 10'000'000, &Config::receipts, &ReceiptSettings::max_settled_per_key>},
    {"denials.id_in_body", "", "true|false",
     "Whether bodies of denials contain an id that GET /admin/v1/denials/{id} explains.",
     kField<&Config::denials, &DenialSettings::id_in_body>},
    {"denials.id_in_header", "", "true|false",
     "Whether denials have this id as X-RateLimit-Denial-Id, too.",
     kField<&Config::denials, &DenialSettings::id_in_header>},
    {"denials.max_viewers", "", "N", "Clients that may watch denials at once.",
     kNumber<0, 10'000, &Config::denials, &DenialSettings::max_viewers>},
    {"decision_log.file", "", "FILE|-",
     "File of the decision log; -: standard output. Default: decisions are not logged.",
     kField<&Config::decision_log, &DecisionLogSettings::file>},
    {"decision_log.denied_every", "", "N", "One in so many denials is logged; 0: none.",
     kNumber<0, 1'000'000'000, &Config::decision_log, &DecisionLogSettings::denied_every>},
    {"decision_log.allowed_every", "", "N", "One in so many allowed calls is logged; 0: none.",
     kNumber<0, 1'000'000'000, &Config::decision_log, &DecisionLogSettings::allowed_every>},
    {"negative_hits", "", "off|envoy_domains|on",
     "Which requests may give hits back without a receipt: none; gRPC, in domains of envoy.config; "
     "or also /json, rule domains and CL.THROTTLE.",
     kField<&Config::negative_hits>},
    {"limits.connections", "", "N", "Maximum number of connections; 0: no maximum.",
     kLimit<0, kNoMaximum, &LimitSettings::connections>},
    {"limits.connections_per_address", "", "N|half",
     "Maximum per address; 0: no maximum; half: half of limits.connections, and no maximum for "
     "trusted proxies.",
     kConnectionsPerAddress},
    {"limits.reserved_connections", "", "N",
     "Additional HTTP connections for health, metrics and admin requests, one request each.",
     kLimit<0, 100'000, &LimitSettings::reserved_connections>},
    {"limits.tls_handshakes_per_address", "", "N",
     "Unfinished TLS handshakes that one address may start per second; 0: no maximum.",
     kLimit<0, 1'000'000, &LimitSettings::tls_handshakes_per_address>},
    {"limits.memory", "", "BYTES",
     "Input and output of all connections; 0: a quarter of the memory of the machine or of its "
     "control group.",
     kLimit<0, kNoMaximum, &LimitSettings::memory>},
    {"limits.header_bytes", "", "BYTES", "Maximum size of the headers of an HTTP request.",
     kLimit<256, 1 << 20, &LimitSettings::header_bytes>},
    {"limits.body_bytes", "", "BYTES", "Maximum size of the body of an HTTP request.",
     kLimit<0, 1 << 30, &LimitSettings::body_bytes>},
    {"limits.pipelined", "", "N", "Requests of one connection that may wait for the store.",
     kLimit<1, 1'000'000, &LimitSettings::pipelined>},
    {"limits.output_bytes", "", "BYTES", "Responses that one client has not read.",
     kLimit<4096, kNoMaximum, &LimitSettings::output_bytes>},
    {"limits.idle_timeout", "", "DURATION", "How long a client may be idle; 0s: forever.",
     kField<&Config::limits, &LimitSettings::idle_timeout>},
    {"limits.request_timeout", "", "DURATION", "Time from a request's first byte to its last.",
     kField<&Config::limits, &LimitSettings::request_timeout>},
    {"drain_timeout", "", "DURATION", "Time for requests under way at shutdown.",
     kField<&Config::drain_timeout>},
    {"log.format", "", "text|json", "Format of log lines.",
     kField<&Config::log, &telemetry::LogOptions::format>},
    {"log.level", "", "LEVEL", "error, warn, info or debug.",
     kField<&Config::log, &telemetry::LogOptions::level>},
    {"metrics.labels", "", "NAME=VALUE[,…]", "Labels of every metric.",
     kField<&Config::metrics_labels>},
    {"identity.sources", "", "SOURCE[,…]",
     "Where the API key of a call is taken from, in this order: header:<name>, bearer, "
     "query:<name>, cookie:<name>, jwt.",
     kField<&Config::identity, &IdentityOptions::sources>},
    {"identity.trusted_proxies", "trusted-proxies", "NETWORK[,…]",
     "Peers whose statement about client addresses is accepted: addresses, networks, unix.",
     kChecked<CheckTrustedProxies, &Config::identity, &IdentityOptions::trusted_proxies>},
    {"identity.address_header", "", "HEADER",
     "Header with that statement: x-forwarded-for, x-real-ip, forwarded or none.",
     kField<&Config::identity, &IdentityOptions::address_header>},
    {"identity.ipv6_prefix", "", "BITS", "Prefix length by which IPv6 clients are counted.",
     kNumber<1, 128, &Config::identity, &IdentityOptions::ipv6_prefix>},
    {"identity.required", "", "true|false",
     "Whether checks with neither `ip` nor `api_key` are refused, instead of counted under the "
     "peer's address.",
     kField<&Config::identity_required>},
    {"identity.hash_keys", "", "true|false", "Whether API keys are stored and shown as hashes.",
     kField<&Config::identity, &IdentityOptions::hash_keys>},
    {"identity.hash_secret_file", "", "FILE", "File with the secret of these hashes.",
     kField<&Config::identity, &IdentityOptions::hash_secret_file>},
    {"identity.jwt.from", "", "SOURCE", "Where a token is taken from.", kJwt<&JwtOptions::from>},
    {"identity.jwt.key_files", "", "FILE[,…]", "Keys that verify tokens: PEM or JWKS.",
     kJwt<&JwtOptions::key_files>},
    {"identity.jwt.secret_file", "", "FILE", "File with the secret of HS256.",
     kJwt<&JwtOptions::secret_file>},
    {"identity.jwt.unverified", "", "true|false",
     "Whether tokens were verified by a proxy and are not verified again.",
     kJwtRule<&JwtRules::unverified>},
    {"identity.jwt.claims", "", "CLAIM=ATTRIBUTE[,…]", "Which claim becomes which attribute.",
     kJwtRule<&JwtRules::claims>},
    {"identity.jwt.issuer", "", "TEXT", "Required issuer (iss).", kJwtRule<&JwtRules::issuer>},
    {"identity.jwt.audience", "", "TEXT", "Required audience (aud).",
     kJwtRule<&JwtRules::audience>},
    {"identity.jwt.require_expiry", "", "true|false", "Whether tokens must expire (exp).",
     kJwtRule<&JwtRules::require_expiry>},
    {"identity.jwt.leeway", "", "DURATION", "Allowed clock difference.",
     kJwtRule<&JwtRules::leeway>},
    {"identity.jwt.on_invalid", "", "refuse|anonymous",
     "Whether a call with an invalid token is refused or treated as anonymous.",
     kJwt<&JwtOptions::on_invalid>},
});

constexpr auto kSettings =
    Joined(kMainSettings,
           TlsSection<&Config::http>(
               {"http_tls.listen", "http_tls.certificate", "http_tls.key",
                "http_tls.minimum_version", "http_tls.client_certificates", "http_tls.client_ca"},
               "http-tls"),
           TlsSection<&Config::resp>(
               {"resp_tls.listen", "resp_tls.certificate", "resp_tls.key",
                "resp_tls.minimum_version", "resp_tls.client_certificates", "resp_tls.client_ca"},
               "resp-tls"),
           TlsSection<&Config::grpc>(
               {"grpc_tls.listen", "grpc_tls.certificate", "grpc_tls.key",
                "grpc_tls.minimum_version", "grpc_tls.client_certificates", "grpc_tls.client_ca"},
               "grpc-tls"),
           TlsSection<&Config::admin>({"admin_tls.listen", "admin_tls.certificate", "admin_tls.key",
                                       "admin_tls.minimum_version", "admin_tls.client_certificates",
                                       "admin_tls.client_ca"},
                                      "admin-tls"));

}  // namespace

std::optional<std::string> AdminTokenProblem(std::string_view token) {
  constexpr std::size_t kLeast = 16;
  if (token.size() < kLeast) {
    return "an admin token has at least 16 characters, since shorter ones can be guessed; "
           "`openssl rand -base64 24` makes one";
  }
  const bool can_be_sent =
      std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!can_be_sent) {
    return "an admin token has no blanks, control characters or letters beyond ASCII";
  }
  return std::nullopt;
}

std::span<const Setting> Settings() { return kSettings; }

const Setting* FindSetting(std::string_view name) {
  const auto found = std::find_if(kSettings.begin(), kSettings.end(),
                                  [&](const Setting& known) { return known.name == name; });
  return found == kSettings.end() ? nullptr : &*found;
}

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

std::string_view Setting::section() const {
  const auto dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view() : name.substr(0, dot);
}

}  // namespace sluice::settings
