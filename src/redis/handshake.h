#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "redis/options.h"
#include "redis/secret.h"
#include "resp/encoder.h"
#include "resp/value.h"

namespace sluice::redis {

/// The first exchange on a new connection: authentication, client name, protocol and
/// database we want. Knows no sockets: it is given replies, and says what to send next.
///
/// HELLO 3 does it all but SELECT. A server that doesn't know HELLO gets AUTH and CLIENT SETNAME,
/// and goes on in RESP2. With sentinels, the server must say (ROLE) that it is the primary: what
/// sentinels know may be old.
class Handshake {
 public:
  enum class Step : std::uint8_t {
    kSend,     ///< Send what was appended, and wait for its reply.
    kDone,     ///< Redis has let us in.
    kRefused,  ///< `error()` says why.
    kNotNow,   ///< The same, but it may pass soon: Redis is loading, busy with a script, a replica.
  };

  Handshake(const Options& options, Secret password)
      : options_(options), password_(std::move(password)) {}

  /// Appends the first command.
  void Start(std::string& out);
  Step OnReply(resp::Value reply, std::string& out);

  [[nodiscard]] resp::Protocol protocol() const { return protocol_; }
  /// The error of Redis, without the password.
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
