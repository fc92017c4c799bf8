#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "identity/identifier.h"
#include "identity/principal.h"

/// The three forms in which an API key leaves the server.
namespace sluice::api {

/// Returns so much of an API key that it can be recognized, and too little to use it: at most half.
[[nodiscard]] inline std::string ShortKey(std::string_view key) {
  constexpr std::size_t kShownBytes = 8;
  return std::string(key.substr(0, std::min(kShownBytes, key.size() / 2))) + "…";
}

/// Returns an API key as a principal may see it in a response: whole from the role operator on,
/// else shortened. A key's digest is the same for all.
[[nodiscard]] std::string KeyForPrincipal(const identity::Principal& principal,
                                          std::string_view key);

/// Returns an API key as logs, audit records, exports and everything else that is kept may have it:
/// its digest.
[[nodiscard]] std::string KeyForRecord(const identity::Identifier& identifier,
                                       std::string_view key);

}  // namespace sluice::api
