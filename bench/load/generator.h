#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "load/dialogue.h"
#include "load/histogram.h"
#include "load/replies.h"
#include "load/requests.h"
#include "net/fd.h"

namespace sluice::bench {

/// What came of a run.
struct Tally {
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::chrono::nanoseconds took{};  ///< From the first request to the last reply.
  std::chrono::nanoseconds cpu{};   ///< What the generator itself needed.
  /// How long it could have run and was not let: others were on its processor.
  std::chrono::nanoseconds kept_waiting{};
};

/// Told of all that is asked and answered.
class Witness {
 public:
  virtual ~Witness() = default;
  virtual void Asked(std::uint64_t key, std::chrono::nanoseconds now) = 0;
  virtual void Answered(std::uint64_t key, Verdict verdict, std::chrono::nanoseconds now) = 0;
};

/// Sends requests over many connections to ports of the loopback, in the thread that calls it, and
/// reads every reply. A reply that is wrong, a connection that ends and a reply that does not come
/// are no figures: they are thrown. Connections stay between runs.
class Generator {
 public:
  /// Replies come in order.
  Generator(std::uint16_t port, std::size_t connections, Requests requests, ReadReply read);
  /// One connection after the other goes to the next port.
  Generator(const std::vector<std::uint16_t>& ports, std::size_t connections, Requests requests,
            ReadReply read);
  /// The same, and each has a dialogue of its own; together they ask for so many keys.
  Generator(const std::vector<std::uint16_t>& ports, std::size_t connections, std::uint64_t keys,
            const std::function<std::unique_ptr<Dialogue>()>& begin);

  /// From now on; nullptr: nobody.
  void Tell(Witness* witness) { witness_ = witness; }

  /// Each connection always has `depth` requests under way: as many as there are replies are sent
  /// again. Says what the server manages at most, and nothing about latencies.
  Tally Closed(std::size_t depth, std::chrono::nanoseconds duration);
  /// The same until each key was asked for once.
  Tally EachKeyOnce(std::size_t depth);

  /// So many requests a second on a fixed schedule, whatever the server does. What is due at one
  /// moment goes out in parts of at most `depth`, each on the next connection. A latency is counted
  /// from the moment that the request was due, so that one that had to wait shows.
  Tally Open(std::size_t depth, double per_second, std::chrono::nanoseconds duration,
             Histogram& latencies);

 private:
  Generator(const std::vector<std::uint16_t>& ports, std::size_t connections,
            const std::shared_ptr<Requests>& requests, ReadReply read);

  struct Connection {
    net::Fd socket;
    std::unique_ptr<Dialogue> dialogue{};
    std::string out{};
    std::size_t out_at = 0;  ///< How much of `out` is sent.
    std::string in{};
    std::size_t in_size = 0;
    std::deque<std::chrono::nanoseconds> due{};  ///< Of the requests of an open loop under way.
    std::deque<std::uint64_t> keys{};            ///< Of those under way, for the witness.
  };

  Tally RunClosed(std::size_t depth, std::chrono::nanoseconds end, std::uint64_t requests);
  /// Waits at most so long for something to do; returns which connections have it.
  std::size_t Wait(int timeout_ms);
  Connection& Ready(std::size_t i);
  void Append(Connection& connection);
  static void Flush(Connection& connection);
  /// Returns how many replies there were.
  std::size_t Receive(Connection& connection);
  std::size_t ReadReplies(Connection& connection);
  void Count(Connection& connection, const Reply& reply);
  void BeginRun();
  [[nodiscard]] Tally EndRun() const;
  void CheckPatience() const;

  std::uint64_t keys_;
  net::Fd epoll_;
  std::vector<Connection> connections_;
  std::vector<std::uint32_t> ready_;

  Tally tally_;
  Witness* witness_ = nullptr;
  Histogram* latencies_ = nullptr;
  std::uint64_t waiting_ = 0;  ///< Requests without a reply.
  std::chrono::nanoseconds began_{};
  std::chrono::nanoseconds cpu_at_begin_{};
  std::chrono::nanoseconds kept_waiting_at_begin_{};
  std::chrono::nanoseconds last_reply_{};
};

}  // namespace sluice::bench
