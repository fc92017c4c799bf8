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

/// How servers belong together.
enum class Topology : std::uint8_t {
  kSingle,    ///< One server.
  kSentinel,  ///< Sentinels know which server is the primary.
  kCluster,   ///< Each server has its share of the keys.
};

/// What the sentinels call the primary, and how to log in to them. What else Options say (TLS,
/// timeout) is for sentinels and servers alike.
struct SentinelOptions {
  std::string name{};
  std::string username{};
  Secret password{};  ///< At most one of these three.
  std::string password_file{};
  std::string password_env{};
};

/// How to reach Redis, and how patient to be with it.
struct Options {
  Topology topology = Topology::kSingle;
  std::vector<ServerAddress> seeds{};  ///< Sentinels, or some of a cluster's servers. Not kSingle.
  SentinelOptions sentinel{};          ///< Only kSentinel.

  /// Only kSingle.
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_socket{};    ///< A path; wins over host and port.
  std::string username{};       ///< Empty: Redis' user "default".
  Secret password{};            ///< At most one of these three.
  std::string password_file{};  ///< Read at every connect, without the line's end.
  std::string password_env{};   ///< The name of an environment variable, read at every connect.
  std::uint32_t database = 0;
  net::TlsOptions tls{};
  std::string client_name = "sluice";  ///< The name in CLIENT LIST; empty: none.

  Micros connect_timeout = std::chrono::milliseconds(250);  ///< Until Redis has let us in.
  /// A server that owes replies and has sent nothing for so long is given up.
  Micros stall_timeout = std::chrono::seconds(1);
  Micros backoff_min = std::chrono::milliseconds(10);   ///< The bound of the first random pause.
  Micros backoff_max = std::chrono::milliseconds(500);  ///< It doubles up to this.

  BreakerOptions breaker{};  ///< Of each server.

  /// False: while the last attempt to connect has failed, calls fail at once. For a server of a
  /// cluster, where another one may take its place.
  bool wait_for_connection = true;
  std::size_t max_queued = 100'000;          ///< Calls that wait, to be sent or for their reply.
  std::size_t max_queued_bytes = 64U << 20;  ///< Bytes of calls that wait to be sent.
  std::size_t max_reply_bytes = 64U << 20;   ///< A larger reply ends the connection.
};

/// Returns the error in the options, if there is one.
[[nodiscard]] std::optional<Error> FindProblem(const Options& options);

/// Returns the options of a connection to one server of a cluster.
[[nodiscard]] Options OptionsOfNode(const Options& options, const ServerAddress& address);

/// The password as the options say, read now.
[[nodiscard]] Result<Secret> ReadPassword(const Options& options);

/// For logs: "127.0.0.1:6379", "[::1]:6379", "unix:/run/redis.sock", "primary 'name' of sentinels
/// h1:26379,h2:26379" or "cluster of h1:6379,h2:6379". Never a password.
[[nodiscard]] std::string AddressOf(const Options& options);

}  // namespace sluice::redis
