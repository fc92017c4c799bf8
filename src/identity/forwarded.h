#pragma once

#include <optional>
#include <string_view>

#include "base/network.h"

namespace sluice::identity {

/// Removes the first element, trimmed, from a comma-separated list. Returns false if nothing is
/// left. Skips empty elements.
bool TakeElement(std::string_view& list, std::string_view& element);

/// The same for the header Forwarded, where commas in quotes don't separate. An unclosed quote
/// extends to the end of the list.
bool TakeForwardedElement(std::string_view& list, std::string_view& element);

/// Parses an address of X-Forwarded-For or X-Real-IP: 1.2.3.4, 1.2.3.4:80, 2001:db8::1,
/// [2001:db8::1] or [2001:db8::1]:80. Returns nothing for other texts, such as "unknown".
[[nodiscard]] std::optional<Address> ParseForwardedFor(std::string_view element);

/// Returns the address of `for` in an element of Forwarded (RFC 7239). Nothing if the element is
/// malformed, does not have exactly one `for`, or has no address: for=unknown, for=_hidden.
[[nodiscard]] std::optional<Address> ParseForwarded(std::string_view element);

}  // namespace sluice::identity
