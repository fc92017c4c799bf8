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

/// A self-healing connection to one Redis server: the one in the options or, with sentinels, the
/// current primary. Sentinels are queried at every connect, and the server must confirm that it is
/// the primary (ROLE). When a sentinel or the server reports that it no longer is, nothing more is
/// sent to it, and calls wait for the new primary.
///
/// All commands of one turn of the loop are sent in one write; replies are matched in order.
/// Connects on first use, and reconnects with backoff whenever the connection is lost; meanwhile
/// calls wait until their deadline. Never sends a call twice: an error says whether the call may
/// have run. A timeout does not close the connection; the late reply is dropped. While the server's
/// breaker is open (breaker.h), calls fail immediately, except for probes. Replies such as LOADING,
/// READONLY or NOSCRIPT are passed to the caller.
///
/// Lives on its loop's thread. Handlers run there, never inside Send. A handler may send and close,
/// but not destroy the client. Commands without exactly one reply (SUBSCRIBE, MONITOR, CLIENT
/// REPLY) and those that change the state of the connection (SELECT, AUTH, RESET) must not be sent.
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

  /// Sends one encoded command; its bytes are copied.
  void Send(std::string_view command, const CallDeadline& deadline, Handler handler);
  /// Sends ASKING directly before the command, or neither of them.
  void SendAsking(std::string_view command, const CallDeadline& deadline, Handler handler);

  /// Sets the handler of push messages (RESP3), such as those of CLIENT TRACKING.
  void OnPush(std::function<void(resp::Value)> handler);
  /// Makes this client a subscriber: sends SUBSCRIBE on every new connection. All messages of the
  /// server are then push messages, also in RESP2. Must be called before the first connect; see
  /// subscriber.h.
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
