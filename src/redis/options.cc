#include "redis/options.h"

#include <cstdlib>
#include <string_view>

#include "base/read_file.h"

namespace sluice::redis {
namespace {

Error InvalidOption(std::string message) {
  return {ErrorCode::kInvalidOptions, std::move(message)};
}

std::optional<Error> FindTimeProblem(const Options& options) {
  if (options.connect_timeout <= Micros{0})
    return InvalidOption("redis: connect_timeout must be above 0");
  if (options.stall_timeout <= Micros{0})
    return InvalidOption("redis: stall_timeout must be above 0");
  if (options.backoff_min < Micros{0} || options.backoff_max < options.backoff_min) {
    return InvalidOption(
        "redis: backoff_min must be at least 0, and backoff_max at least backoff_min");
  }
  return std::nullopt;
}

std::optional<Error> FindBreakerProblem(const BreakerOptions& breaker) {
  if (breaker.failures == 0) return InvalidOption("redis: breaker_failures must be above 0");
  if (breaker.least_percent > 100) {
    return InvalidOption("redis: breaker_least_percent must be at most 100");
  }
  if (breaker.window <= Micros{0}) return InvalidOption("redis: breaker_window must be above 0");
  if (breaker.pause > std::chrono::seconds(1)) {
    return InvalidOption("redis: breaker_pause must be at most 1s");
  }
  if (breaker.probes == 0 || breaker.successes == 0) {
    return InvalidOption("redis: breaker_probes and breaker_successes must be above 0");
  }
  return std::nullopt;
}

std::optional<Error> FindPlaceProblem(const Options& options) {
  if (options.topology == Topology::kSingle) {
    if (!options.unix_socket.empty()) return std::nullopt;
    if (options.host.empty()) return InvalidOption("redis: host is empty");
    if (options.port == 0) return InvalidOption("redis: port is 0");
    return std::nullopt;
  }
  const bool sentinel = options.topology == Topology::kSentinel;
  if (options.seeds.empty()) {
    return InvalidOption(sentinel ? "redis: sentinels need an address, as in 10.0.0.1:26379"
                                  : "redis: a cluster needs an address, as in 10.0.0.1:6379");
  }
  if (!options.unix_socket.empty()) {
    return InvalidOption("redis: sentinels and clusters have no unix_socket");
  }
  if (sentinel && options.sentinel.name.empty()) {
    return InvalidOption("redis: sentinels need the name of the primary");
  }
  if (!sentinel && options.database != 0)
    return InvalidOption("redis: a cluster has only database 0");
  return std::nullopt;
}

// Of `Options` and `SentinelOptions`.
template <typename Login>
std::optional<Error> FindLoginProblem(const Login& login, const std::string& prefix) {
  const int passwords = (login.password.empty() ? 0 : 1) + (login.password_file.empty() ? 0 : 1) +
                        (login.password_env.empty() ? 0 : 1);
  if (passwords > 1) {
    return InvalidOption("redis: only one of " + prefix + "password, " + prefix +
                         "password_file and " + prefix + "password_env may be given");
  }
  if (passwords == 0 && !login.username.empty()) {
    return InvalidOption("redis: the " + std::string(prefix.empty() ? "" : "sentinels' ") +
                         "user " + login.username + " has no password");
  }
  return std::nullopt;
}

Result<Secret> ReadPasswordFile(const std::string& path) {
  auto text = ReadSecretFile(path);
  if (!text) return InvalidOption("redis: password_file " + path + " " + text.error().message);
  return Secret(*std::move(text));
}

Result<Secret> ReadPasswordVariable(const std::string& name) {
  const char* const text = std::getenv(name.c_str());
  if (text == nullptr || *text == '\0') {
    return InvalidOption("redis: password_env: the environment variable " + name + " is not set");
  }
  return Secret(text);
}

}  // namespace

std::optional<Error> FindProblem(const Options& options) {
  if (auto problem = FindPlaceProblem(options)) return problem;
  if (auto problem = FindLoginProblem(options, "")) return problem;
  if (auto problem = FindLoginProblem(options.sentinel, "sentinel_")) return problem;
  if (options.client_name.find_first_of(" \r\n") != std::string::npos) {
    return InvalidOption("redis: client_name must not contain spaces");
  }
  if (options.max_queued == 0) return InvalidOption("redis: max_queued must be above 0");
  if (auto problem = FindBreakerProblem(options.breaker)) return problem;
  return FindTimeProblem(options);
}

Options OptionsOfNode(const Options& options, const ServerAddress& address) {
  Options of_node = options;
  of_node.topology = Topology::kSingle;
  of_node.seeds.clear();
  of_node.host = address.host;
  of_node.port = address.port;
  of_node.wait_for_connection = false;
  return of_node;
}

Result<Secret> ReadPassword(const Options& options) {
  if (!options.password_file.empty()) return ReadPasswordFile(options.password_file);
  if (!options.password_env.empty()) return ReadPasswordVariable(options.password_env);
  return options.password;
}

std::string AddressOf(const Options& options) {
  if (!options.unix_socket.empty()) return "unix:" + options.unix_socket;
  if (options.topology == Topology::kSingle) return ToText({options.host, options.port});
  std::string seeds;
  for (const ServerAddress& seed : options.seeds) {
    seeds.append(seeds.empty() ? "" : ",").append(ToText(seed));
  }
  if (options.topology == Topology::kCluster) return "cluster of " + seeds;
  return "primary '" + options.sentinel.name + "' of sentinels " + seeds;
}

}  // namespace sluice::redis
