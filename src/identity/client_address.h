#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "base/network.h"
#include "base/network_table.h"
#include "identity/headers.h"

namespace sluice::identity {

/// The networks of trusted proxies. Immutable; lookups do not allocate.
class TrustedProxies {
 public:
  TrustedProxies() = default;
  /// Addresses and networks; "unix" is any client of a Unix socket. Fails with
  /// kInvalidOptions.
  static Result<TrustedProxies> Parse(const std::vector<std::string>& networks);

  [[nodiscard]] bool Trusts(const Address& address) const {
    return networks_.Find(address) != NetworkTable::kNone;
  }
  /// Of a connection: without an address it came through a Unix socket.
  [[nodiscard]] bool TrustsPeer(const std::optional<Address>& peer) const {
    return peer ? Trusts(*peer) : unix_;
  }

 private:
  NetworkTable networks_;
  bool unix_ = false;
};

/// The header in which a proxy names its client. One, and never whichever is there: what the proxy
/// does not set itself, it passes on from its client.
enum class AddressHeader : std::uint8_t { kNone, kXForwardedFor, kXRealIp, kForwarded };

/// "none", "x-forwarded-for", "x-real-ip" or "forwarded", in upper or lower case.
[[nodiscard]] std::optional<AddressHeader> ParseAddressHeader(std::string_view name);

/// Returns the client's address. It is the peer's, unless the peer is a trusted proxy: then the
/// lines of the header, in their order, are walked from the right to the first address that is not
/// a trusted proxy's. The walk stops before text that is not an address. If all are trusted, it is
/// the leftmost. X-Real-IP counts only if it is there once. Nothing: a Unix socket without a
/// forwarded client. Allocates nothing.
[[nodiscard]] std::optional<Address> FindClientAddress(const std::optional<Address>& peer,
                                                       const Headers& headers, AddressHeader header,
                                                       const TrustedProxies& proxies);

}  // namespace sluice::identity
