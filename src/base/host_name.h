#pragma once

#include <string>
#include <string_view>

namespace sluice {

/// Normalizes the host of a request: lower case, without port, trailing dot and brackets; IPv6
/// addresses as in RFC 5952. "API.example.com.:443" becomes "api.example.com", "[::1]:80" becomes
/// "::1". Invalid hosts are normalized in the same way, never rejected.
///
/// The result points into `host`, or into `buffer` if letters had to be changed. Allocates only if
/// the buffer must grow.
[[nodiscard]] std::string_view NormalizeHost(std::string_view host, std::string& buffer);

}  // namespace sluice
