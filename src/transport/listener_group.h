#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/result.h>

#include "base/live.h"
#include "net/acceptor.h"
#include "net/loop.h"
#include "net/loops.h"
#include "net/tls_context.h"
#include "transport/connections.h"

namespace sluice::transport {

enum class Security : std::uint8_t { kPlain, kTls };

struct ListenerGroupOptions {
  ConnectionLimits limits{};
  /// Sent to a client beyond the bounds before its connection is closed. With TLS
  /// nothing is sent: it would take a handshake.
  std::string refusal{};
  /// Connections beyond the bounds, on all loops, that may ask for what sessions with
  /// `ConnectionFacts::is_reserved` answer. 0: none in this protocol.
  std::size_t reserved = 0;
  /// Peers that must begin with the PROXY protocol; null: it is off.
  const identity::TrustedProxies* proxies = nullptr;
};

/// The listeners of one protocol, and its connections on every loop.
///
/// Accepts on the main loop, on whose thread it lives, and hands connections to the other loops in
/// turn. These must run as long as it lives.
class ListenerGroup {
 public:
  /// `make_session` is called once for each loop, on the caller's thread; its result is used on
  /// that loop.
  ListenerGroup(net::Loop& main, net::Loops& loops, Admission& admission, MemoryBudget& memory,
                const ListenerGroupOptions& options,
                const std::function<MakeSession(std::size_t loop)>& make_session);
  /// Closes everything.
  ~ListenerGroup();
  ListenerGroup(const ListenerGroup&) = delete;
  ListenerGroup& operator=(const ListenerGroup&) = delete;

  /// Returns the address, which is the real one where port 0 was asked for. May be called again.
  Result<net::ListenAddress> Listen(const net::ListenOptions& options,
                                    Security security = Security::kPlain);

  /// Sets the certificates of new connections to listeners with TLS. Must be called before the
  /// first Listen with TLS; `tls` must outlive it, and have a version.
  void UseTls(const Live<net::TlsContext>& tls) { tls_.emplace(tls); }

  /// Accepts the connections in the backlog, stops listening, and drains all connections.
  /// `on_empty` runs on the main loop when none is left, which is soon after the deadline at the
  /// latest.
  void Drain(SteadyTime deadline, std::function<void()> on_empty);

  /// From any thread, once all listeners are there.
  [[nodiscard]] ConnectionCounters Totals() const;

 private:
  void OnAccept(net::Fd socket, const net::PeerAddress& peer, Security security);

  net::Loop& main_;
  net::Loops& loops_;
  Admission& admission_;
  const ListenerGroupOptions options_;
  ConnectionCounters counters_;  // Of those that never reach a loop.
  std::vector<std::unique_ptr<Connections>> connections_;
  std::vector<std::unique_ptr<net::Acceptor>> acceptors_;
  std::optional<LiveReader<net::TlsContext>> tls_;
  std::size_t next_ = 0;
};

}  // namespace sluice::transport
