#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/loop.h"
#include "redis/call.h"
#include "redis/options.h"
#include "redis/server_address.h"

namespace sluice::redis {

class Client;
class Subscriber;

/// The result of querying the sentinels.
struct FoundPrimary {
  std::optional<ServerAddress> server;
  std::string error;          ///< Set if there is no server.
  bool unknown_name = false;  ///< A sentinel answered that it does not know the name.
};

/// Queries sentinels for the primary: one after the other, starting with the one that answered
/// last, each with the timeout `connect_timeout`. From the first query on it also subscribes to all
/// sentinels, and calls `on_hint` when one reports a change of the primary.
///
/// Lives on its loop's thread. Events run there, never inside its functions; they may close it, but
/// not destroy it.
class PrimaryFinder {
 public:
  struct Events {
    std::function<void(const FoundPrimary&)> on_found;
    std::function<void()> on_hint;
  };

  PrimaryFinder(net::Loop& loop, const Options& options, Events events);
  ~PrimaryFinder();

  /// Starts a query; `on_found` follows. Restarts a query under way.
  void Find();
  void Close();

 private:
  void Listen();
  void Step();
  void Ask(const ServerAddress& sentinel);
  void OnReply(const ServerAddress& sentinel, const Answer& answer);
  void OnMessage(std::size_t sentinel, std::string_view message);

  net::Loop& loop_;
  const Options& options_;
  const Events events_;
  const std::string command_;
  net::TurnEnd step_;
  bool busy_ = false;
  bool again_ = false;
  bool closed_ = false;
  std::size_t first_ = 0;  ///< Index of the sentinel to query first.
  std::size_t asked_ = 0;  ///< Number of sentinels queried so far, including the current one.
  FoundPrimary found_;
  std::unique_ptr<Client> client_;  ///< Connection to the queried sentinel.
  std::vector<std::unique_ptr<Subscriber>> subscribers_;
};

}  // namespace sluice::redis
