#pragma once

#include <string>
#include <string_view>

/// base64url as in RFC 4648, without padding.
namespace sluice {

void AppendBase64Url(std::string_view bytes, std::string& out);

/// Appends the bytes that `text` stands for. False if it is not base64url, or not its canonical
/// form: one token must not have two texts.
[[nodiscard]] bool DecodeBase64Url(std::string_view text, std::string& out);

}  // namespace sluice
