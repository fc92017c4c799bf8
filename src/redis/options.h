#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "net/stream.h"
#include "redis/breaker.h"
#include "redis/secret.h"
#include "redis/server_address.h"

namespace sluice::redis {

/// The topology of Redis servers.
enum class Topology : std::uint8_t {
  kSingle,    ///< One server.
  kSentinel,  ///< A primary with replicas, found through sentinels.
  kCluster,   ///< A Redis Cluster: each server has a share of the keys.
};

/// The sentinels' name of the primary, and their login. Other options (TLS, timeouts) apply to
/// sentinels and servers.
struct SentinelOptions {
  std::string name{};
  std::string username{};
  Secret password{};  ///< At most one of these three.
  std::string password_file{};
  std::string password_env{};
};

/// Addresses, login and timeouts of Redis.
struct Options {
  Topology topology = Topology::kSingle;
  std::vector<ServerAddress> seeds{};  ///< Sentinels, or some of a cluster's servers. Not kSingle.
  SentinelOptions sentinel{};          ///< Only kSentinel.

  /// Only kSingle.
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_socket{};    ///< A path; takes precedence over host and port.
  std::string username{};       ///< Empty: Redis' user "default".
  Secret password{};            ///< At most one of these three.
  std::string password_file{};  ///< Read at every connect; a trailing line break is removed.
  std::string password_env{};   ///< The name of an environment variable, read at every connect.
  std::uint32_t database = 0;
  net::TlsOptions tls{};
  std::string client_name = "sluice";  ///< The name in CLIENT LIST; empty: none.

  Micros connect_timeout = std::chrono::milliseconds(250);  ///< Including the login.
  /// A connection with pending replies that has been silent for this long is closed.
  Micros stall_timeout = std::chrono::seconds(1);
  Micros backoff_min = std::chrono::milliseconds(10);   ///< Upper bound of the first random pause.
  Micros backoff_max = std::chrono::milliseconds(500);  ///< It doubles up to this.

  BreakerOptions breaker{};  ///< Of each server.

  /// False: calls fail immediately while the last connection attempt has failed. For servers of a
  /// cluster, where another one may take over.
  bool wait_for_connection = true;
  std::size_t max_queued =
      100'000;  ///< Maximum number of calls that are unsent or wait for a reply.
  std::size_t max_queued_bytes = 64U << 20;  ///< Maximum bytes of unsent calls.
  std::size_t max_reply_bytes = 64U << 20;   ///< A larger reply closes the connection.
};

/// Returns the error in the options, if there is one.
[[nodiscard]] std::optional<Error> FindProblem(const Options& options);

/// Returns the options of a connection to one server of a cluster.
[[nodiscard]] Options OptionsOfNode(const Options& options, const ServerAddress& address);

/// Returns the password, read from its source now.
[[nodiscard]] Result<Secret> ReadPassword(const Options& options);

/// For logs: "127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock", "primary 'name' of sentinels
/// h1:26379,h2:26379" or "cluster of h1:6379,h2:6379". Never a password.
[[nodiscard]] std::string AddressOf(const Options& options);

}  // namespace sluice::redis
