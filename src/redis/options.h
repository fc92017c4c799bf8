#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <sluice/result.h>
#include <sluice/time.h>

#include "net/stream.h"
#include "redis/secret.h"

namespace sluice::redis {

/// How to reach one Redis server, and how patient to be with it.
struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 6379;
  std::string unix_socket{};    ///< A path; wins over host and port.
  std::string username{};       ///< Empty: Redis' user "default".
  Secret password{};            ///< At most one of these three.
  std::string password_file{};  ///< Read at every connect, without the line's end.
  std::string password_env{};   ///< The name of an environment variable, read at every connect.
  std::uint32_t database = 0;
  net::TlsOptions tls{};
  std::string client_name = "sluice";  ///< What CLIENT LIST shows; empty: nothing.

  Micros connect_timeout = std::chrono::milliseconds(250);  ///< Until Redis has let us in.
  /// A server that owes replies and has sent nothing for so long is given up.
  Micros stall_timeout = std::chrono::seconds(1);
  Micros backoff_min = std::chrono::milliseconds(10);   ///< The bound of the first random pause.
  Micros backoff_max = std::chrono::milliseconds(500);  ///< It doubles up to this.

  std::size_t max_queued = 100'000;          ///< Calls that wait, to be sent or for their reply.
  std::size_t max_queued_bytes = 64U << 20;  ///< Bytes of calls that wait to be sent.
  std::size_t max_reply_bytes = 64U << 20;   ///< A larger reply ends the connection.
};

/// What is wrong with the options, if anything.
[[nodiscard]] std::optional<Error> FindProblem(const Options& options);

/// The password as the options say, read now.
[[nodiscard]] Result<Secret> ReadPassword(const Options& options);

/// For logs: "127.0.0.1:6379", "[::1]:6379" or "unix:/run/redis.sock". Never a password.
[[nodiscard]] std::string AddressOf(const Options& options);

}  // namespace sluice::redis
