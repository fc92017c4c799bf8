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
  /// Without an address, the peer is a Unix socket.
  [[nodiscard]] bool TrustsPeer(const std::optional<Address>& peer) const {
    return peer ? Trusts(*peer) : unix_;
  }

 private:
  NetworkTable networks_;
  bool unix_ = false;
};

/// The header with the client's address. Exactly one is configured: a proxy passes on the headers
/// that it does not set itself, and clients could forge those.
enum class AddressHeader : std::uint8_t { kNone, kXForwardedFor, kXRealIp, kForwarded };

/// Parses "none", "x-forwarded-for", "x-real-ip" or "forwarded", ignoring case.
[[nodiscard]] std::optional<AddressHeader> ParseAddressHeader(std::string_view name);

/// Returns the client's address. It is the peer's, unless the peer is a trusted proxy: then it is
/// the rightmost address in the lines of the header that is not a trusted proxy's. The search stops
/// at text that is not an address. If all are trusted, it is the leftmost. X-Real-IP must be
/// present exactly once. Nothing for a Unix socket without a forwarded client. Does not allocate.
[[nodiscard]] std::optional<Address> FindClientAddress(const std::optional<Address>& peer,
                                                       const Headers& headers, AddressHeader header,
                                                       const TrustedProxies& proxies);

}  // namespace sluice::identity
