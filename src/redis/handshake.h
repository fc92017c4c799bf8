#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/options.h"
#include "redis/secret.h"
#include "resp/encoder.h"
#include "resp/value.h"

namespace sluice::redis {

/// The first exchange on a new connection: authentication, client name, protocol and database. A
/// state machine without sockets: takes replies and returns the next action.
///
/// HELLO 3 covers all but SELECT. A server without HELLO gets AUTH and CLIENT SETNAME, and RESP2 is
/// used. With sentinels, the server must confirm that it is the primary (ROLE), because their
/// information may be stale.
class Handshake {
 public:
  enum class Step : std::uint8_t {
    kSend,     ///< Send the appended bytes and wait for the reply.
    kDone,     ///< The login succeeded.
    kRefused,  ///< The login failed: see error().
    kNotNow,   ///< The same, but temporary: Redis is loading, busy with a script, or a replica.
  };

  Handshake(const Options& options, Secret password)
      : options_(options), password_(std::move(password)) {}

  /// Appends the first command.
  void Start(std::string& out);
  Step OnReply(resp::Value reply, std::string& out);

  [[nodiscard]] resp::Protocol protocol() const { return protocol_; }
  /// The error reply, without the password.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  enum class Asked : std::uint8_t { kHello, kAuth, kSetName, kSelect, kRole };

  Step SendAuth(std::string& out);
  Step SendSetName(std::string& out);
  Step SendSelect(std::string& out);
  Step SendRole(std::string& out);
  Step ReadRole(resp::Value reply);
  Step Refuse(std::string_view command, resp::Value reply);

  const Options& options_;
  Secret password_;
  Asked asked_ = Asked::kHello;
  resp::Protocol protocol_ = resp::Protocol::kResp3;
  std::string error_;
};

}  // namespace sluice::redis
