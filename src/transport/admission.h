#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "identity/client_address.h"
#include "net/address.h"
#include "transport/handshake_budget.h"

namespace sluice::transport {

/// Zero: no bound.
struct AdmissionLimits {
  std::size_t connections = 10'000;
  /// For IPv6, of a whole /64: that is what one customer gets. Unix sockets are not counted.
  std::size_t per_address = 0;
  /// Connections beyond these bounds, for operators: see EnterReserve.
  std::size_t reserved = 0;
  /// TLS handshakes that one address may begin in a second and not end.
  std::size_t handshakes_per_address = 0;
  /// Peers that speak for many clients: they have no budget of handshakes, and no bound per address
  /// unless `per_address_of_proxies`. Null: none. Must outlive the Admission.
  const identity::TrustedProxies* proxies = nullptr;
  bool per_address_of_proxies = true;
};

/// Admits connections: limits those of the whole server and those of each address.
/// Thread-safe; its lock is taken when a connection begins and ends, and at no other time.
class Admission {
 public:
  /// Connections of the reserve that no loop has seen yet.
  static constexpr std::size_t kOnTheirWay = 1024;

  enum class Verdict { kAdmitted, kTooMany, kTooManyFromAddress };

  explicit Admission(AdmissionLimits limits)
      : limits_(limits), handshakes_(limits.handshakes_per_address) {}

  /// An admitted connection must Leave.
  [[nodiscard]] Verdict Enter(const net::PeerAddress& peer);
  void Leave(const net::PeerAddress& peer);

  /// For a peer that was not admitted: whether it may be given the chance to ask for health or for
  /// what administrators ask. `reserved` are kept by the loops, where the oldest give way to new
  /// ones; some more can be on their way there. A connection that gets it must LeaveReserve.
  [[nodiscard]] bool EnterReserve();
  void LeaveReserve();

  /// Whether half of the connections are in use: from then on silent ones have less time.
  [[nodiscard]] bool is_crowded() const {
    return limits_.connections > 0 && size() * 2 >= limits_.connections;
  }
  /// Whether two peers count as one address.
  [[nodiscard]] static bool AreOneAddress(const net::PeerAddress& a, const net::PeerAddress& b) {
    return OriginOf(a) == OriginOf(b);
  }
  /// Whether the peer is a proxy that speaks for many.
  [[nodiscard]] bool IsProxy(const net::PeerAddress& peer) const;
  [[nodiscard]] HandshakeBudget& handshakes() { return handshakes_; }

  [[nodiscard]] const AdmissionLimits& limits() const { return limits_; }
  // Relaxed: the number is all that is read.
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  /// Returns the most connections since the last call, and begins anew with those of now.
  [[nodiscard]] std::size_t TakePeak();
  /// How many addresses there are connections from.
  [[nodiscard]] std::size_t addresses() const;

 private:
  // The family, and the bytes that count.
  using Origin = std::array<std::uint8_t, 9>;
  struct OriginHash {
    std::size_t operator()(const Origin& origin) const;
  };
  static Origin OriginOf(const net::PeerAddress& peer);

  const AdmissionLimits limits_;
  HandshakeBudget handshakes_;
  mutable std::mutex mutex_;
  std::atomic<std::size_t> size_{0};  ///< Written under the lock.
  std::size_t peak_ = 0;
  std::size_t in_reserve_ = 0;
  std::unordered_map<Origin, std::size_t, OriginHash> origins_;
};

}  // namespace sluice::transport
