#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "net/address.h"

namespace sluice::server {

/// Zero: no bound.
struct AdmissionLimits {
  std::size_t connections = 10'000;
  /// For IPv6, of a whole /64: that is what one customer gets. Unix sockets are not counted.
  std::size_t per_address = 0;
};

/// Who may come in: bounds the connections of the whole server, and those of each address.
/// Thread-safe; its lock is taken when a connection begins and ends, and at no other time.
class Admission {
 public:
  enum class Verdict { kAdmitted, kTooMany, kTooManyFromAddress };

  explicit Admission(AdmissionLimits limits) : limits_(limits) {}

  /// Whoever is admitted must Leave.
  [[nodiscard]] Verdict Enter(const net::PeerAddress& peer);
  void Leave(const net::PeerAddress& peer);

  [[nodiscard]] std::size_t size() const;
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
  mutable std::mutex mutex_;
  std::size_t size_ = 0;
  std::unordered_map<Origin, std::size_t, OriginHash> origins_;
};

}  // namespace sluice::server
