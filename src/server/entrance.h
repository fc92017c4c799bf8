#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sluice/result.h>

#include "net/acceptor.h"
#include "net/loop.h"
#include "net/tls_context.h"
#include "server/connections.h"
#include "server/loops.h"

namespace sluice::server {

enum class Security : std::uint8_t { kPlain, kTls };

struct EntranceOptions {
  ConnectionLimits limits{};
  /// What a client is told for which there is no room, before its connection is closed. With TLS
  /// it is told nothing: it would take a handshake.
  std::string refusal{};
  /// Who must begin with the PROXY protocol; null: it is not spoken here.
  const identity::TrustedProxies* proxies = nullptr;
};

/// Where the clients of one protocol come in: its listeners, and its connections on every loop.
///
/// Accepts on the main loop, on whose thread it lives, and hands connections to the other loops in
/// turn. These must run as long as it lives.
class Entrance {
 public:
  /// `make_session` is asked once for each loop, on the caller's thread; what it returns is used on
  /// that loop.
  Entrance(net::Loop& main, Loops& loops, Admission& admission, const EntranceOptions& options,
           const std::function<MakeSession(std::size_t loop)>& make_session);
  /// Closes everything.
  ~Entrance();
  Entrance(const Entrance&) = delete;
  Entrance& operator=(const Entrance&) = delete;

  /// Returns the address, which is the real one where port 0 was asked for. May be called again.
  Result<net::ListenAddress> Listen(const net::ListenOptions& options,
                                    Security security = Security::kPlain);

  /// For connections that come from now on to listeners with TLS. Before the first of these.
  void UseTls(std::shared_ptr<const net::TlsContext> tls) { tls_ = std::move(tls); }

  /// Accepts who has been waiting, listens no more, and drains all connections. `on_empty` runs on
  /// the main loop when none is left, which is soon after the deadline at the latest.
  void Drain(SteadyTime deadline, std::function<void()> on_empty);

  /// From any thread, once all listeners are there.
  [[nodiscard]] ConnectionTotals Totals() const;

 private:
  void OnAccept(net::Fd socket, const net::PeerAddress& peer, Security security);

  net::Loop& main_;
  Loops& loops_;
  Admission& admission_;
  const EntranceOptions options_;
  ConnectionCounters counters_;  // Of those that never reach a loop.
  std::vector<std::unique_ptr<Connections>> connections_;
  std::vector<std::unique_ptr<net::Acceptor>> acceptors_;
  std::shared_ptr<const net::TlsContext> tls_;
  std::size_t next_ = 0;
};

}  // namespace sluice::server
