#pragma once

#include <string>
#include <string_view>

namespace sluice {

/// One way to write the host of a request, of those that servers take for the same: in lower case,
/// without a port, a dot at the end or the brackets of an IPv6 address, which is written as RFC
/// 5952 wants it. "API.example.com.:443" is "api.example.com", "[::1]:80" is "::1". A text that is
/// no host is changed likewise, never refused.
///
/// The result points into `host`, or into `buffer` where letters had to be changed; the buffer
/// grows to the longest host that needed it, and nothing else is allocated.
[[nodiscard]] std::string_view NormalizeHost(std::string_view host, std::string& buffer);

}  // namespace sluice
