#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/loop.h"
#include "redis/call.h"
#include "redis/options.h"
#include "redis/service.h"
#include "redis/stats.h"
#include "resp/encoder.h"

namespace sluice::redis {

/// A connection to one Redis server that looks after itself: to the one that the options name, or,
/// with sentinels, to the one that they say is the primary. They are asked anew at every connect;
/// the server itself must say that it is the primary, too. As soon as a sentinel or the server says
/// that it no longer is, nothing more is sent there, and calls wait for its successor.
///
/// Everything that is sent during one turn of the loop leaves in one write; replies are matched in
/// order. It connects on first use, and again, with growing random pauses, whenever the connection
/// is lost; meanwhile calls wait until their deadline. It never sends a call twice: an error says
/// whether the call may have run. A call that timed out leaves the connection as it is; its late
/// reply is thrown away. While the server's breaker is open (breaker.h), calls are refused at once
/// but for a few that try. Replies such as LOADING, READONLY or NOSCRIPT are replies, for the
/// caller to handle.
///
/// Lives on its loop's thread. Handlers run there, never inside Send. A handler may send and close,
/// but not destroy the client. Commands whose replies don't come one for one (SUBSCRIBE, MONITOR,
/// CLIENT REPLY) and those that change what the connection is (SELECT, AUTH, RESET) must not be
/// sent.
///
///     std::string command;
///     resp::AppendCommand(command, {"INCR", "visits"});
///     client.Send(command, loop.Now() + std::chrono::milliseconds(50), [](const redis::Answer&
///     answer) {
///       if (answer) Use(answer.reply().integer());
///     });
class Client final : public Service {
 public:
  Client(net::Loop& loop, Options options);
  /// Closes.
  ~Client() override;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Sends one whole command, already encoded; its bytes are copied.
  void Send(std::string_view command, const CallDeadline& deadline, Handler handler);
  /// Sends ASKING right before it, or neither of them.
  void SendAsking(std::string_view command, const CallDeadline& deadline, Handler handler);

  /// Gets the server's push messages (RESP3), such as those of CLIENT TRACKING.
  void OnPush(std::function<void(resp::Value)> handler);
  /// Makes a subscriber of it: says SUBSCRIBE on every new connection. What the server says then,
  /// in RESP2 too, are push messages. Before the first connect; see subscriber.h.
  void Subscribe(std::span<const std::string> channels);

  /// The server's protocol version; known once the client is ready.
  [[nodiscard]] resp::Protocol protocol() const;
  [[nodiscard]] const Options& options() const;

  // ---- Service

  [[nodiscard]] bool has_slots() const override { return false; }
  void Send(Route& route, std::string_view command, SteadyTime deadline, Handler handler) override;
  RetryAdvice AdviceFor(const Answer& answer, Route& route) override;
  void OnBreakerChange(BreakerListener listener) override;
  void Connect() override;
  void Close() override;
  [[nodiscard]] State state() const override;
  [[nodiscard]] const std::string& last_error() const override;
  [[nodiscard]] Stats StatsApprox() const override;

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace sluice::redis
