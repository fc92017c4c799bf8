#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "net/loop.h"
#include "net/timer.h"
#include "redis/client.h"
#include "redis/options.h"

namespace sluice::redis {

/// Receives the messages of channels over its own connection, which is reopened whenever it is
/// lost. Messages published meanwhile are lost: use `on_subscribed` to catch up.
///
/// Lives on its loop's thread. Events run there; they may close it, but not destroy it.
class Subscriber {
 public:
  struct Events {
    std::function<void(std::string_view channel, std::string_view message)> on_message;
    /// Messages published from now on are received. Called once per channel and connection.
    std::function<void()> on_subscribed{};
    /// Redis refused the subscription with this error. May be empty.
    std::function<void(std::string_view error)> on_refused{};
  };

  Subscriber(net::Loop& loop, const Options& options, std::span<const std::string> channels,
             Events events);

  /// Connects, and reconnects until closed.
  void Start();
  void Close();

  [[nodiscard]] const Client& client() const { return client_; }

 private:
  void OnPush(resp::Value push) const;
  void Ping();

  net::Loop& loop_;
  Events events_;
  Client client_;
  net::Timer ping_;  ///< Detects dead connections.
  const std::string ping_command_;
};

}  // namespace sluice::redis
