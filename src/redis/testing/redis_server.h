#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "redis/options.h"
#include "resp/value.h"

namespace sluice::redis::testing {

struct RedisServerOptions {
  std::vector<std::string>
      config{};                 ///< More lines of redis.conf, such as "user alice on >pw ~* +@all".
  bool tls = false;             ///< The port speaks TLS only, with a certificate of Certificates.
  bool sentinel = false;        ///< A sentinel.
  std::uint16_t port = 0;       ///< 0: one that is free.
  std::string cluster_nodes{};  ///< What nodes.conf says when it starts.
};

/// A certificate authority, what it has signed for the server (redis.test, 127.0.0.1) and for a
/// client, and an authority that has signed nothing. Made by the openssl program in the given
/// folder.
struct Certificates {
  explicit Certificates(const std::filesystem::path& folder);
  std::string ca_file, server_cert_file, server_key_file, client_cert_file, client_key_file,
      other_ca_file;
};

/// A real redis-server in a folder of its own, on a free port of the loopback and on a Unix socket,
/// without persistence. It dies with the test, however the test ends. Throws what goes wrong.
///
/// The environment variable SLUICE_TEST_REDIS_SERVER names another program to start instead: an
/// older or newer Redis, or Valkey.
class RedisServer {
 public:
  enum class Until : std::uint8_t {
    kLoaded,   ///< It answers everything.
    kListens,  ///< It may still be loading what was saved.
  };

  explicit RedisServer(RedisServerOptions options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string unix_socket() const { return (folder_ / "redis.sock").string(); }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  /// Only with TLS.
  [[nodiscard]] const Certificates& certificates() const { return certificates_.front(); }

  /// How to reach it over TCP; with TLS, trusting the right authority.
  [[nodiscard]] Options ClientOptions() const;

  /// Asks it something as its user "default", over a connection of its own: Do("ACL WHOAMI").
  resp::Reply Do(std::string_view inline_command) const;
  /// Returns whether the text reply to a command contains `text`.
  [[nodiscard]] bool Says(std::string_view inline_command, std::string_view text) const {
    return Do(inline_command).value().text().find(text) != std::string_view::npos;
  }

  void Kill();  ///< As if the power went: kill -9.
  /// Again after Kill, at the same place, with nothing in it but what SAVE saved.
  void Start(Until until = Until::kLoaded);
  void Freeze() const;  ///< It answers nothing, but the kernel still accepts for it.
  void Thaw() const;

 private:
  void WriteConfig();
  void Spawn();
  [[nodiscard]] bool Answers(Until until) const;

  RedisServerOptions options_;
  std::filesystem::path folder_;
  std::vector<Certificates> certificates_;
  std::uint16_t port_ = 0;
  pid_t process_ = 0;
};

/// A port of the loopback on which nothing listens, below the ones that the kernel gives to
/// outgoing connections. Never the same one twice.
std::uint16_t FreePort();

}  // namespace sluice::redis::testing
