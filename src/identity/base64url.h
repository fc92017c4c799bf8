#pragma once

#include <string>
#include <string_view>

namespace sluice::identity {

/// Appends what base64url (RFC 4648, without padding) stands for. False if it is not that, or not
/// written in the one way that it can be: one token must not have two texts.
[[nodiscard]] bool AppendBase64Url(std::string_view text, std::string& out);

}  // namespace sluice::identity
