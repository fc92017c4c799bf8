#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

namespace sluice::server {

/// How the listeners with TLS of one protocol speak it.
struct TlsSettings {
  std::vector<std::string> listen{};
  std::string certificate{};
  std::string key{};  ///< Empty: in the file of the certificate.
  std::string minimum_version = "1.2";
  std::string client_certificates = "off";
  std::string client_ca{};
};

/// How callers are known.
struct IdentitySettings {
  std::vector<std::string> sources{"header:X-API-Key"};
  std::vector<std::string> trusted_proxies{"127.0.0.0/8", "::1", "unix"};
  std::string address_header = "x-forwarded-for";
  std::size_t ipv6_prefix = 64;
  bool hash_keys = false;
  std::string hash_secret_file{};

  std::string jwt_from = "bearer";
  std::vector<std::string> jwt_key_files{};
  std::string jwt_secret_file{};
  bool jwt_unverified = false;
  std::vector<std::pair<std::string, std::string>> jwt_claims{{"sub", "api_key"}};
  std::string jwt_issuer{};
  std::string jwt_audience{};
  bool jwt_require_expiry = false;
  Micros jwt_leeway = std::chrono::seconds(60);
  std::string jwt_on_invalid = "refuse";
};

/// What `sluice serve` can be told. `settings.cc` names each field for files, flags and the
/// environment; docs/server.md explains them.
struct Config {
  std::vector<std::string> http_listen{"127.0.0.1:8080"};
  std::vector<std::string> resp_listen{"127.0.0.1:6380"};
  std::vector<std::string> grpc_listen{"127.0.0.1:8081"};
  TlsSettings http_tls;
  TlsSettings resp_tls;
  TlsSettings grpc_tls;
  bool http_proxy_protocol = false;
  bool resp_proxy_protocol = false;
  bool grpc_proxy_protocol = false;
  std::size_t threads = 0;  ///< 0: one for each core.

  IdentitySettings identity;
  /// What trusted proxies say of calls in headers of their own: header and attribute.
  std::vector<std::pair<std::string, std::string>> forward_auth_headers;

  Micros grpc_deadline = std::chrono::milliseconds(15);
  std::size_t grpc_max_message_bytes = std::size_t{1} << 20;
  std::size_t grpc_max_streams = 1024;
  Micros grpc_max_connection_age{0};
  Micros grpc_max_connection_age_grace = std::chrono::seconds(10);
  Micros grpc_keepalive_interval = std::chrono::minutes(2);
  Micros grpc_keepalive_timeout = std::chrono::seconds(20);

  std::string rules;         ///< A file. Empty: the example rules.
  std::string envoy_config;  ///< A directory. Empty: there is none.
  bool envoy_merge_domains = false;
  std::vector<std::string> envoy_rule_domains;  ///< Those that the rules judge.
  std::string envoy_response_headers = "none";
  std::string enforcement = "on";

  std::string store = "memory";  ///< Or where Redis is.
  std::string redis_file;        ///< The same as YAML; wins over `store`.
  Micros store_deadline = std::chrono::milliseconds(50);
  std::size_t servers = 0;               ///< That share Redis; 0: as many as are seen there.
  std::size_t emergency_per_second = 0;  ///< Of one address while Redis fails; 0: no limit.
  std::size_t memory_max_keys = 10'000'000;
  std::size_t memory_max_bytes = 0;

  std::string admin_token;
  std::string admin_token_file;
  std::string receipt_secret_file;

  std::string header_style = "x-ratelimit";
  std::size_t retry_after_jitter_percent = 0;
  bool limits_in_requests = true;

  std::size_t max_connections = 10'000;
  std::size_t max_connections_per_address = 0;
  std::size_t max_header_bytes = std::size_t{16} << 10;
  std::size_t max_body_bytes = std::size_t{1} << 20;
  std::size_t max_pipelined = 1024;
  std::size_t max_output_bytes = std::size_t{16} << 20;
  Micros idle_timeout = std::chrono::minutes(5);
  Micros request_timeout = std::chrono::seconds(10);
  Micros drain_timeout = std::chrono::seconds(10);

  std::string log_format = "text";
  std::string log_level = "info";
  std::vector<std::pair<std::string, std::string>> metrics_labels;
};

/// One field of a Config, as it is called: `http.listen` in a file, `--http-listen` as a flag,
/// `SLUICE_HTTP_LISTEN` in the environment.
struct Setting {
  std::string_view name;
  std::string_view also;   ///< Another name for the flag, without its dashes; may be empty.
  std::string_view value;  ///< What is to be written there: "ADDRESS", "N", …
  std::string_view meaning;
  bool is_secret;  ///< Never shown.
  /// What is wrong with the text, if anything is.
  std::optional<std::string> (*set)(Config& config, std::string_view text);
  std::string (*get)(const Config& config);

  [[nodiscard]] std::string flag() const;
  [[nodiscard]] std::string variable() const;
};

[[nodiscard]] std::span<const Setting> Settings();

/// Where settings come from; the later wins.
struct ConfigSources {
  std::string file;  ///< A path; empty: none.
  std::function<const char*(const char*)> environment;
  std::vector<std::pair<std::string, std::string>> flags;  ///< Names of settings, and texts.
};

/// All mistakes are told, one on a line, each with where it stands.
[[nodiscard]] Result<Config> ReadConfig(const ConfigSources& sources);

/// As a file that says the same; secrets are left out.
[[nodiscard]] std::string PrintConfig(const Config& config);

}  // namespace sluice::server
