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

/// Begins a conversation with a client. Called on the connection's loop.
using MakeSession = std::function<std::unique_ptr<transport::Session>(transport::Transport& host,
                                                                      const ConnectionFacts&)>;

/// The connections of one kind on one loop. Lives on the loop's thread, and must be destroyed
/// there.
///
/// Each turn of the loop reads from all ready sockets, and at its end writes the output, one
/// write for each connection. Time limits are looked after by a sweep over all connections, once a
/// second or, for short limits, more often: none of them costs a busy connection anything.
///
/// A connection that has more to do than its share of a turn goes on in the next one. One that the
/// store or the memory has no room for is tried again every millisecond, in the order in which they
/// came to wait; meanwhile its client's bytes stay in the socket.
class Connections {
 public:
  /// `proxies`: peers that must begin with the PROXY protocol, and the only ones that may; null:
  /// none. `refusal`: sent to a reserved connection that has to go. It and `memory` must outlive
  /// this.
  Connections(net::Loop& loop, Admission& admission, MemoryBudget& memory,
              const ConnectionLimits& limits, const identity::TrustedProxies* proxies,
              std::string_view refusal, MakeSession make_session);
  /// Closes all.
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Takes over a connection that has been admitted. `tls`: null for one in plain text; else its
  /// session begins after the handshake. `refusal`: not set for one within the bounds; else it is
  /// in the reserve, and this counts it unless it asks for what the reserve is for.
  void Adopt(net::Fd socket, const net::PeerAddress& peer,
             std::shared_ptr<const net::TlsContext> tls, std::optional<Refusal> refusal = {});

  /// Lets requests under way finish, and closes idle connections. What has been sent to us by now
  /// counts as under way. At the deadline the rest is cut. `on_empty` runs once, when none is left;
  /// connections adopted later are served and drained alike.
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
  std::vector<char> plain_buffer_;  // What was read with TLS; empty before the first such.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> to_write_;
  std::vector<Connection*> to_read_;  // They have more than one turn's share.
  std::vector<Connection*> waiting_;  // For the store, or for memory; in their order.
  std::vector<Connection*> scratch_;
  std::vector<Connection*> buried_;    // Closed; destroyed at the turn's end.
  std::vector<Connection*> reserved_;  // In the order in which they came.
  HandshakeQueue handshakes_;
  net::Timer handshake_retry_;
  bool retries_handshakes_ = false;  // The timer is set.
  bool crowded_ = false;             // As of the last sweep.
  net::TurnEnd turn_end_;
  net::Timer sweep_;
  net::Timer let_go_on_;
  Micros turn_time_;                     // Of one connection in this turn.
  std::shared_ptr<Connections*> alive_;  // For what is posted to this loop.
  std::shared_ptr<void> relief_;
  bool draining_ = false;
  SteadyTime drain_deadline_{};
  std::function<void()> on_empty_;
};

}  // namespace sluice::transport
