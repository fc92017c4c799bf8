#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "api/session.h"
#include "identity/client_address.h"
#include "net/address.h"
#include "net/fd.h"
#include "net/loop.h"
#include "net/timer.h"
#include "net/tls_context.h"
#include "server/admission.h"
#include "server/connection_counters.h"
#include "server/connection_facts.h"
#include "server/connection_limits.h"

namespace sluice::server {

class Connection;

/// Begins a conversation with a client. Called on the connection's loop.
using MakeSession =
    std::function<std::unique_ptr<api::Session>(api::SessionHost& host, const ConnectionFacts&)>;

/// The connections of one kind on one loop. Lives on the loop's thread, and must be destroyed
/// there.
///
/// Each turn of the loop reads from whoever is ready, and at its end writes what came of it, one
/// write for each connection. Time limits are looked after by a sweep over all connections, once a
/// second or, for short limits, more often: none of them costs a busy connection anything.
class Connections {
 public:
  /// `proxies`: who must begin with the PROXY protocol, which is read of nobody else; null: nobody.
  Connections(net::Loop& loop, Admission& admission, const ConnectionLimits& limits,
              const identity::TrustedProxies* proxies, MakeSession make_session);
  /// Closes all.
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  /// Takes over a connection that has been admitted. `tls`: null for one in plain text; else its
  /// session begins after the handshake.
  void Adopt(net::Fd socket, const net::PeerAddress& peer,
             std::shared_ptr<const net::TlsContext> tls);

  /// Lets requests under way finish, and closes whoever has none. What has been sent to us by now
  /// counts as under way. At the deadline the rest is cut. `on_empty` runs once, when none is left;
  /// whoever is adopted later is served and drained alike.
  void Drain(SteadyTime deadline, std::function<void()> on_empty);

  [[nodiscard]] std::size_t size() const { return connections_.size(); }
  /// May be read from any thread.
  [[nodiscard]] const ConnectionCounters& counters() const { return counters_; }

 private:
  friend class Connection;

  void WriteAtTurnEnd(Connection& connection);
  void ReadNextTurn(Connection& connection);
  void Bury(Connection& connection);
  void FinishTurn();
  void DestroyBuried();
  void Sweep();
  void ScheduleSweep();

  net::Loop& loop_;
  Admission& admission_;
  const ConnectionLimits limits_;
  const identity::TrustedProxies* const proxies_;
  const MakeSession make_session_;
  const Micros sweep_interval_;
  ConnectionCounters counters_;
  std::vector<char> read_buffer_;
  std::vector<char> plain_buffer_;  // What was read with TLS; empty before the first such.
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<Connection*> to_write_;
  std::vector<Connection*> to_read_;  // They have more than one turn's share.
  std::vector<Connection*> scratch_;
  std::vector<Connection*> buried_;  // Closed; destroyed at the turn's end.
  net::TurnEnd turn_end_;
  net::Timer sweep_;
  bool draining_ = false;
  SteadyTime drain_deadline_{};
  std::function<void()> on_empty_;
};

}  // namespace sluice::server
