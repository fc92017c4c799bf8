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

/// Receives the messages of some channels, over a connection of its own that is reopened
/// whenever it ends. What is published meanwhile is lost: `on_subscribed` is the moment to ask for
/// what may have been missed.
///
/// Lives on its loop's thread, where its events happen; they may close it, but not destroy it.
class Subscriber {
 public:
  struct Events {
    std::function<void(std::string_view channel, std::string_view message)> on_message;
    /// Whatever is published from now on is heard. Once for each channel and connection.
    std::function<void()> on_subscribed{};
    /// Redis refuses the subscription, with this error; may be empty.
    std::function<void(std::string_view error)> on_refused{};
  };

  Subscriber(net::Loop& loop, const Options& options, std::span<const std::string> channels,
             Events events);

  /// Connects, and keeps connecting.
  void Start();
  void Close();

  [[nodiscard]] const Client& client() const { return client_; }

 private:
  void OnPush(resp::Value push) const;
  void Ping();

  net::Loop& loop_;
  Events events_;
  Client client_;
  net::Timer ping_;  ///< A silent connection may be a dead one.
  const std::string ping_command_;
};

}  // namespace sluice::redis
