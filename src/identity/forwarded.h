#pragma once

#include <optional>
#include <string_view>

#include "base/network.h"

namespace sluice::identity {

/// Takes the first element off a list whose elements are separated by commas, without the blanks
/// around it. False if nothing is left. Empty elements are passed over.
bool TakeElement(std::string_view& list, std::string_view& element);

/// The same for the header Forwarded, where a comma between quotes separates nothing. A quote that
/// is not closed goes to the end of the list.
bool TakeForwardedElement(std::string_view& list, std::string_view& element);

/// An address as X-Forwarded-For and X-Real-IP have it: 1.2.3.4, 1.2.3.4:80, 2001:db8::1,
/// [2001:db8::1] or [2001:db8::1]:80. Nothing else, "unknown" included.
[[nodiscard]] std::optional<Address> ParseForwardedFor(std::string_view element);

/// The address behind `for` in an element of Forwarded (RFC 7239). Nothing if the element is not
/// well-formed, says `for` twice or not at all, or has no address: for=unknown,
/// for=_hidden.
[[nodiscard]] std::optional<Address> ParseForwarded(std::string_view element);

}  // namespace sluice::identity
