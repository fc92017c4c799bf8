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

/// Limits of admission; 0: no limit.
struct AdmissionLimits {
  std::size_t connections = 10'000;
  /// Connections per address; for IPv6 per /64, the usual assignment to one customer. Unix sockets
  /// are not counted.
  std::size_t per_address = 0;
  /// Connections beyond these limits for operators: see EnterReserve.
  std::size_t reserved = 0;
  /// Unfinished TLS handshakes that one address may start per second.
  std::size_t handshakes_per_address = 0;
  /// Proxies of many clients: exempt from the handshake budget, and from the limit per address
  /// unless `per_address_of_proxies`. Null: none. Must outlive the Admission.
  const identity::TrustedProxies* proxies = nullptr;
  bool per_address_of_proxies = true;
};

/// Limits the connections of the server and of each address. Thread-safe; locks only when a
/// connection starts or ends.
class Admission {
 public:
  /// Reserved connections that no loop has adopted yet.
  static constexpr std::size_t kOnTheirWay = 1024;

  enum class Verdict { kAdmitted, kTooMany, kTooManyFromAddress };

  explicit Admission(AdmissionLimits limits)
      : limits_(limits), handshakes_(limits.handshakes_per_address) {}

  /// Admits a connection or not. An admitted one must call Leave.
  [[nodiscard]] Verdict Enter(const net::PeerAddress& peer);
  void Leave(const net::PeerAddress& peer);

  /// Returns whether a peer that was not admitted may send a health or admin request. Loops keep
  /// `reserved` such connections and close the oldest for new ones; some more may be in transit. If
  /// true, the connection must call LeaveReserve.
  [[nodiscard]] bool EnterReserve();
  void LeaveReserve();

  /// True if half of the connections are in use: silent connections then have a shorter timeout.
  [[nodiscard]] bool is_crowded() const {
    return limits_.connections > 0 && size() * 2 >= limits_.connections;
  }
  /// Returns whether two peers count as one address.
  [[nodiscard]] static bool AreOneAddress(const net::PeerAddress& a, const net::PeerAddress& b) {
    return OriginOf(a) == OriginOf(b);
  }
  /// Returns whether the peer is one of `limits().proxies`.
  [[nodiscard]] bool IsProxy(const net::PeerAddress& peer) const;
  [[nodiscard]] HandshakeBudget& handshakes() { return handshakes_; }

  [[nodiscard]] const AdmissionLimits& limits() const { return limits_; }
  // Relaxed: an independent counter.
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_relaxed); }
  /// Returns the peak of connections since the last call and resets it to the current number.
  [[nodiscard]] std::size_t TakePeak();
  /// Returns the number of addresses with connections.
  [[nodiscard]] std::size_t addresses() const;

 private:
  // The address family and the significant bytes.
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
