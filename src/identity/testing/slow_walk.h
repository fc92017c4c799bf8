#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/network.h"
#include "identity/client_address.h"

namespace sluice::identity::testing {

/// Whom a request with these lines of the header comes from, said slowly: all elements side by
/// side, looked at from the last to the first.
[[nodiscard]] std::optional<Address> SlowWalk(const std::optional<Address>& peer,
                                              const std::vector<std::string>& lines,
                                              AddressHeader header, const TrustedProxies& proxies);

/// The same question to what is tested, with other headers around those lines.
[[nodiscard]] std::optional<Address> AskFor(const std::optional<Address>& peer,
                                            const std::vector<std::string>& lines,
                                            AddressHeader header, const TrustedProxies& proxies);

}  // namespace sluice::identity::testing
