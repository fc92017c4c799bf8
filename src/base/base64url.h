#pragma once

#include <string>
#include <string_view>

/// base64url as in RFC 4648, without padding.
namespace sluice {

void AppendBase64Url(std::string_view bytes, std::string& out);

/// Decodes `text` and appends the bytes. Returns false if it is not base64url in canonical form:
/// one token must not have two encodings.
[[nodiscard]] bool DecodeBase64Url(std::string_view text, std::string& out);

}  // namespace sluice
