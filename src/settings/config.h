#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "answer/rate_limit_headers.h"
#include "base/url_path.h"
#include "envoy/negative_hits.h"
#include "identity/jwt_roles.h"
#include "identity/options.h"
#include "limiter/limiter.h"
#include "net/tls_context.h"
#include "telemetry/log.h"
#include "telemetry/loop_tracer.h"

/// The settings of `sluice serve` as typed values. `settings.cc` names each field for files, flags
/// and the environment; docs/server.md explains them.
namespace sluice::settings {

/// Names and values, in the order in which they were written.
using Pairs = std::vector<std::pair<std::string, std::string>>;

/// The listeners of one protocol.
struct ListenerSettings {
  std::vector<std::string> listen{};
  bool proxy_protocol = false;
  std::vector<std::string> tls_listen{};
  net::TlsServerOptions tls{};
};

struct HttpSettings {
  ListenerSettings listener{.listen = {"127.0.0.1:8080"}};
  HeaderStyle headers = HeaderStyle::kXRateLimit;
  std::size_t retry_after_jitter_percent = 0;
  bool limits_in_requests = true;
};

struct RespSettings {
  ListenerSettings listener{.listen = {"127.0.0.1:6380"}};
};

struct GrpcSettings {
  ListenerSettings listener{.listen = {"127.0.0.1:8081"}};
  Micros deadline = std::chrono::milliseconds(15);
  std::size_t max_message_bytes = std::size_t{1} << 20;
  std::size_t max_decompressed_bytes = std::size_t{64} << 10;
  std::size_t max_streams = 1024;
  Micros max_connection_age{0};
  Micros max_connection_age_grace = std::chrono::seconds(10);
  Micros keepalive_interval = std::chrono::minutes(2);
  Micros keepalive_timeout = std::chrono::seconds(20);
};

struct ForwardAuthSettings {
  Pairs headers{};           ///< Header and attribute, set by trusted proxies.
  PathFolding fold_paths{};  ///< Paths that the servers behind proxies treat as equal.
};

/// Headers that Envoy adds to responses.
struct EnvoyHeaderSettings {
  bool ratelimit = false;  ///< As envoyproxy/ratelimit does; else in this style.
  HeaderStyle style = HeaderStyle::kNone;

  friend bool operator==(const EnvoyHeaderSettings&, const EnvoyHeaderSettings&) = default;
};

/// The authority for the rules.
enum class RulesSource : std::uint8_t {
  kFile,   ///< The rule file.
  kStore,  ///< Versions in Redis, or in `state_dir` if limits live in memory.
};

struct ControlSettings {
  std::string name_space = "default";  ///< Separates fleets that share a Redis.
  bool require_message = false;        ///< Of every change of the rules.
  bool traffic_sample = true;          ///< Whether calls are sampled, to predict a change's impact.
};

/// Bounds of a change of the rules.
struct GuardSettings {
  /// Percentage of the sampled calls that a change may newly deny; not set: any.
  std::optional<double> max_newly_denied{};
};

struct EnvoySettings {
  std::string config{};  ///< A directory; empty: none.
  bool merge_domains = false;
  std::vector<std::string> rule_domains{};  ///< Evaluated by our own rules.
  EnvoyHeaderSettings response_headers{};
};

struct StoreSettings {
  std::string url = "memory";  ///< Or the URL of Redis.
  std::string redis_file{};    ///< The same as YAML; wins over `url`.
  Micros deadline = std::chrono::milliseconds(50);
};

struct FailoverSettings {
  std::size_t servers = 0;           ///< Peers at the same Redis; 0: as many as are seen there.
  std::size_t calls_per_second = 0;  ///< Of one address while Redis fails; 0: no limit.
};

struct MemorySettings {
  std::size_t max_keys = 10'000'000;
  std::size_t max_bytes = 0;
  std::size_t names_bytes = std::size_t{32} << 20;  ///< Of the directory of names; 0: none.
};

/// Bounds of limits that requests bring.
struct RequestLimitSettings {
  std::size_t memory_percent = 25;
  std::size_t redis_keys = 1'000'000;  ///< 0: no bound.
  Micros max_refill_time = std::chrono::hours(24) * 31;
  std::size_t max_log_entries = 1000;
  std::size_t max_slots = 1000;
};

struct AdminSettings {
  ListenerSettings
      listener{};  ///< Without addresses: the HTTP listener serves administrators, too.
  std::string token{};
  std::string token_file{};
  std::vector<std::string> hosts{};  ///< As NormalizeHost writes them.
  bool dashboard = true;
  bool plaintext_login = false;
  std::vector<std::pair<std::string, identity::Role>> certificates{};  ///< Subjects and roles.
  identity::JwtRoleOptions jwt{};
};

struct CheckSettings {
  bool require_token = false;  ///< Checks need the role checker.
};

struct ReceiptSettings {
  std::string secret_file{};
  Micros lifetime = std::chrono::hours(1);
  std::size_t max_settled_per_key = 100'000;
};

struct DenialSettings {
  bool id_in_body = true;
  bool id_in_header = false;
  std::size_t max_viewers = 128;
};

struct PenaltySettings {
  std::size_t max_entries = 20'000;
};

struct DecisionLogSettings {
  std::string file{};  ///< Empty: decisions are not logged; "-": standard output.
  std::size_t denied_every = 1;
  std::size_t allowed_every = 0;
};

enum class OtlpProtocol : std::uint8_t { kHttpProtobuf, kHttpJson };

/// Export of telemetry to an OpenTelemetry receiver.
struct OtlpSettings {
  std::string endpoint{};  ///< Empty: nothing is exported.
  OtlpProtocol protocol = OtlpProtocol::kHttpProtobuf;
  Pairs headers{};  ///< Secrets.
  Micros timeout = std::chrono::seconds(10);
  std::string ca_file{};
  std::string certificate_file{};
  std::string key_file{};
  bool traces = true;
  bool metrics = true;
  bool logs = true;
  std::string service_name = "sluice";
  Pairs resource_attributes{};
  telemetry::TraceSampler sampler = telemetry::TraceSampler::kParentRatio;
  double sampler_ratio = 0.001;
  Micros slow_call = std::chrono::milliseconds(25);
  std::size_t spans_per_second = 100;
  Micros metrics_interval = std::chrono::minutes(1);
  std::size_t denied_every = 100;
};

enum class StatsdFormat : std::uint8_t { kDogstatsd, kStatsd };

/// Export of metrics to a StatsD receiver.
struct StatsdSettings {
  std::string address{};  ///< Empty: nothing is sent.
  StatsdFormat format = StatsdFormat::kDogstatsd;
  std::string prefix{};
  Micros interval = std::chrono::seconds(10);
};

struct LimitSettings {
  std::size_t connections = 10'000;
  /// 0: no bound. Not set: half of `connections`, and no bound for trusted proxies.
  std::optional<std::size_t> connections_per_address{};
  std::size_t reserved_connections = 32;
  std::size_t tls_handshakes_per_address = 100;
  std::size_t memory = 0;  ///< Input and output of all connections; 0: a share of the machine.
  std::size_t header_bytes = std::size_t{16} << 10;
  std::size_t body_bytes = std::size_t{1} << 20;
  std::size_t pipelined = 1024;
  std::size_t output_bytes = std::size_t{16} << 20;
  Micros idle_timeout = std::chrono::minutes(5);
  Micros request_timeout = std::chrono::seconds(10);
};

struct Config {
  HttpSettings http;
  RespSettings resp;
  GrpcSettings grpc;
  std::size_t threads = 0;  ///< 0: one per core.
  identity::IdentityOptions identity{.trusted_proxies = {"127.0.0.0/8", "::1", "unix"}};
  bool identity_required = false;  ///< Of checks: an `ip` or an `api_key`.
  ForwardAuthSettings forward_auth;
  std::string rules;  ///< A file; empty: the example rules.
  RulesSource rules_source = RulesSource::kFile;
  std::string state_dir =
      "./sluice-state";  ///< With RulesSource::kFile, created by the first write.
  ControlSettings control;
  GuardSettings guard;
  EnvoySettings envoy;
  limiter::Enforcement enforcement = limiter::Enforcement::kOn;
  StoreSettings store;
  FailoverSettings failover;
  MemorySettings memory;
  RequestLimitSettings request_limits;
  AdminSettings admin;
  CheckSettings checks;
  ReceiptSettings receipts;
  DenialSettings denials;
  PenaltySettings penalties;
  DecisionLogSettings decision_log;
  envoy::NegativeHits negative_hits = envoy::NegativeHits::kEnvoyDomains;
  LimitSettings limits;
  Micros drain_timeout = std::chrono::seconds(10);
  telemetry::LogOptions log;
  Pairs metrics_labels;
  OtlpSettings otlp;
  StatsdSettings statsd;
};

/// Where settings come from; the later wins.
struct ConfigSources {
  std::string file;  ///< A path; empty: none.
  std::function<const char*(const char*)> environment;
  std::vector<std::pair<std::string, std::string>> flags;  ///< Names of settings, and values.
};

/// Reads all sources. The error lists every problem, one per line, each with its place.
[[nodiscard]] Result<Config> ReadConfig(const ConfigSources& sources);

/// Returns why a text can't be an admin token: it is too short, or can't be sent in a header.
[[nodiscard]] std::optional<std::string> AdminTokenProblem(std::string_view token);

/// Prints a file with the same settings; secrets are masked.
[[nodiscard]] std::string PrintConfig(const Config& config);

}  // namespace sluice::settings
