#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::api {

/// Returns so much of an API key that it can be recognized, and too little to use it: at most half.
[[nodiscard]] inline std::string ShortKey(std::string_view key) {
  constexpr std::size_t kShownBytes = 8;
  return std::string(key.substr(0, std::min(kShownBytes, key.size() / 2))) + "…";
}

}  // namespace sluice::api
