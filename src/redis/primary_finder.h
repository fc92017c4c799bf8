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

/// The result of asking the sentinels.
struct FoundPrimary {
  std::optional<ServerAddress> server;
  std::string error;          ///< Why there is none.
  bool unknown_name = false;  ///< A sentinel was there, but does not know the name.
};

/// Asks sentinels which server is the primary: one after the other, beginning with the one that
/// answered last, each with the timeout of `connect_timeout`. From the first question on it also
/// listens to all of them, and gives a hint when one says that the primary has changed.
///
/// Lives on its loop's thread, where its events happen, never inside a call of it; they may close
/// it, but not destroy it.
class PrimaryFinder {
 public:
  struct Events {
    std::function<void(const FoundPrimary&)> on_found;
    std::function<void()> on_hint;
  };

  PrimaryFinder(net::Loop& loop, const Options& options, Events events);
  ~PrimaryFinder();

  /// `on_found` follows. While an answer is outstanding, it is asked for anew.
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
  std::size_t first_ = 0;  ///< The sentinel to begin with.
  std::size_t asked_ = 0;  ///< How many were asked, one of them perhaps just now.
  FoundPrimary found_;
  std::unique_ptr<Client> client_;  ///< To the sentinel that is asked.
  std::vector<std::unique_ptr<Subscriber>> subscribers_;
};

}  // namespace sluice::redis
