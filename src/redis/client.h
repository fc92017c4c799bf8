#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "net/loop.h"
#include "redis/call.h"
#include "redis/options.h"
#include "resp/encoder.h"

namespace sluice::redis {

enum class State : std::uint8_t {
  kIdle,        ///< Nobody has asked for anything yet.
  kConnecting,  ///< Until Redis has let us in.
  kReady,
  kWaiting,  ///< The last attempt failed; the next one is due in a moment.
  kClosed,
};

struct Stats {
  State state = State::kIdle;
  std::uint64_t connects = 0;  ///< Connections on which Redis let us in.
  std::uint64_t connect_failures = 0;
  std::uint64_t disconnects = 0;  ///< Of connections that had been let in.
  std::uint64_t calls = 0;
  std::uint64_t replies = 0;       ///< Late ones included.
  std::uint64_t timeouts = 0;      ///< Calls whose deadline passed, sent or not.
  std::uint64_t late_replies = 0;  ///< Of calls that had timed out.
  std::uint64_t rejected = 0;      ///< Calls for which there was no room.
  std::uint64_t lost = 0;          ///< Calls that were under way when a connection ended.
  std::uint64_t pushes = 0;
  std::uint64_t writes = 0;  ///< Times that bytes were given to the connection.
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
  std::size_t queued = 0;     ///< Calls that wait to be sent.
  std::size_t in_flight = 0;  ///< Calls that wait for a reply, timed-out ones included.
};

/// A connection to one Redis server that looks after itself. Which server, and what to do when it
/// fails, is for somebody above to decide.
///
/// Everything that is sent during one turn of the loop leaves in one write; replies are matched in
/// order. It connects on first use, and again, with growing random pauses, whenever the connection
/// is lost; meanwhile calls wait until their deadline. It never sends a call twice: an error says
/// whether the call may have run. A call that timed out leaves the connection as it is; its late
/// reply is thrown away. Replies such as LOADING, READONLY or NOSCRIPT are replies, for the caller
/// to judge.
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
class Client {
 public:
  Client(net::Loop& loop, Options options);
  /// Closes.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// Sends one whole command, already encoded; its bytes are copied.
  void Send(std::string_view command, SteadyTime deadline, Handler handler);

  /// Connects now instead of at the first call.
  void Connect();

  /// Ends the connection for good. Handlers of all pending calls are called before it returns.
  void Close();

  /// Gets the server's push messages (RESP3), such as those of CLIENT TRACKING.
  void OnPush(std::function<void(resp::Value)> handler);

  [[nodiscard]] State state() const;
  /// What the server speaks; known once the client is ready.
  [[nodiscard]] resp::Protocol protocol() const;
  /// Why there is no connection; empty if there is one, or none was tried.
  [[nodiscard]] const std::string& last_error() const;
  [[nodiscard]] const Options& options() const;

  /// From any thread; numbers of one moment may be a little apart.
  [[nodiscard]] Stats StatsApprox() const;

 private:
  class Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace sluice::redis
