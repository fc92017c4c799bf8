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
  /// Sent to a client beyond the limits before its connection is closed. Not sent with TLS, which
  /// would take a handshake.
  std::string refusal{};
  /// Connections beyond the limits, on all loops together, whose sessions have
  /// `ConnectionFacts::is_reserved`. 0: none in this protocol.
  std::size_t reserved = 0;
  /// Peers that must begin with the PROXY protocol; null: off.
  const identity::TrustedProxies* proxies = nullptr;
};

/// The listeners of one protocol, and its connections on every loop.
///
/// Accepts on the main loop, on whose thread it lives, and distributes connections round-robin to
/// the other loops, which must outlive it.
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

  /// Starts a listener. Returns its address, with the actual port if port 0 was requested. May be
  /// called repeatedly.
  Result<net::ListenAddress> Listen(const net::ListenOptions& options,
                                    Security security = Security::kPlain);

  /// Sets the certificates of TLS listeners. Must be called before the first Listen with TLS. `tls`
  /// must outlive this, and have a version.
  void UseTls(const Live<net::TlsContext>& tls) { tls_.emplace(tls); }

  /// Accepts the connections in the backlog, stops listening, and drains all connections.
  /// `on_empty` runs on the main loop when none is left, at the latest soon after the deadline.
  void Drain(SteadyTime deadline, std::function<void()> on_empty);

  /// May be called from any thread, after the last Listen.
  [[nodiscard]] ConnectionCounters Totals() const;

 private:
  void OnAccept(net::Fd socket, const net::PeerAddress& peer, Security security);

  net::Loop& main_;
  net::Loops& loops_;
  Admission& admission_;
  const ListenerGroupOptions options_;
  ConnectionCounters counters_;  // Of connections that never reach a loop.
  std::vector<std::unique_ptr<Connections>> connections_;
  std::vector<std::unique_ptr<net::Acceptor>> acceptors_;
  std::optional<LiveReader<net::TlsContext>> tls_;
  std::size_t next_ = 0;
};

}  // namespace sluice::transport
