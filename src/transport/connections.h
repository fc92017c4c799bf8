#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "identity/client_address.h"
#include "net/address.h"
#include "net/fd.h"
#include "net/loop.h"
#include "net/timer.h"
#include "net/tls_context.h"
#include "transport/admission.h"
#include "transport/connection_counters.h"
#include "transport/connection_facts.h"
#include "transport/connection_limits.h"
#include "transport/handshake_queue.h"
#include "transport/memory_budget.h"
#include "transport/session.h"

namespace sluice::transport {

class Connection;

/// Creates the session of a connection. Called on the connection's loop.
using MakeSession = std::function<std::unique_ptr<transport::Session>(transport::Transport& host,
                                                                      const ConnectionFacts&)>;

/// The connections of one listener group on one loop. Lives on the loop's thread and must be
/// destroyed there.
///
/// Each turn of the loop reads from all ready sockets, and at its end writes the output with one
/// write per connection. Timeouts are checked by a sweep over all connections, once a second or,
/// for short ones, more often, at no cost for busy connections.
///
/// A connection that has used its share of a turn continues in the next one. A connection that
/// waits for the store or for memory is retried every millisecond, in FIFO order; meanwhile its
/// client's bytes stay in the socket.
class Connections {
 public:
  /// `proxies` are the peers that must, and may, begin with the PROXY protocol; null: none.
  /// `refusal` is sent to a reserved connection that is closed for another. `refusal` and `memory`
  /// must outlive this.
  Connections(net::Loop& loop, Admission& admission, MemoryBudget& memory,
              const ConnectionLimits& limits, const identity::TrustedProxies* proxies,
              std::string_view refusal, MakeSession make_session);
  /// Closes all.
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Takes over an admitted connection. `tls` is null for plain text; with TLS the session starts
  /// after the handshake. `refusal` is set for reserved connections: the counter to increment
  /// unless it sends an operator's request.
  void Adopt(net::Fd socket, const net::PeerAddress& peer,
             std::shared_ptr<const net::TlsContext> tls, std::optional<Refusal> refusal = {});

  /// Finishes requests under way, including received ones, and closes idle connections. Closes the
  /// rest at the deadline. `on_empty` runs once, when none is left; connections adopted later are
  /// drained, too.
  void Drain(SteadyTime deadline, std::function<void()> on_empty);

  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  /// May be read from any thread.
  [[nodiscard]] const ConnectionCounters& counters() const { return counters_; }

 private:
  friend class Connection;

  void WriteAtTurnEnd(Connection& connection);
  void GoOnNextTurn(Connection& connection);
  void GoOnLater(Connection& connection);
  void LetGoOn();
  void CloseLargest();
  void Bury(Connection& connection);
  void FinishTurn();
  void DestroyBuried();
  void MakeRoomInReserve(const net::PeerAddress& newcomer);
  void QueueHandshake(Connection& connection);
  void RunHandshakes();
  void RetryHandshakes();
  void Sweep();
  void ScheduleSweep();

  net::Loop& loop_;
  Admission& admission_;
  const ConnectionLimits limits_;
  MemoryBudget& memory_;
  const identity::TrustedProxies* const proxies_;
  const std::string_view refusal_;
  const MakeSession make_session_;
  const Micros sweep_interval_;
  ConnectionCounters counters_;
  std::vector<char> read_buffer_;
  std::vector<char> plain_buffer_;  // Decrypted input; empty before the first TLS connection.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> to_write_;
  std::vector<Connection*> to_read_;  // Have used their share of this turn.
  std::vector<Connection*> waiting_;  // For the store or for memory, in FIFO order.
  std::vector<Connection*> scratch_;
  std::vector<Connection*> buried_;    // Closed; destroyed at the turn's end.
  std::vector<Connection*> reserved_;  // Oldest first.
  HandshakeQueue handshakes_;
  net::Timer handshake_retry_;
  bool retries_handshakes_ = false;  // The timer is set.
  bool crowded_ = false;             // As of the last sweep.
  net::TurnEnd turn_end_;
  net::Timer sweep_;
  net::Timer let_go_on_;
  Micros turn_time_;                     // Share of one connection in this turn.
  std::shared_ptr<Connections*> alive_;  // For callbacks posted to this loop.
  std::shared_ptr<void> relief_;
  bool draining_ = false;
  SteadyTime drain_deadline_{};
  std::function<void()> on_empty_;
};

}  // namespace sluice::transport
