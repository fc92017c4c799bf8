#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::config_text {

/// Returns the name with the smallest edit distance (substituted, missing, extra or swapped
/// letters), if it is small enough.
[[nodiscard]] std::optional<std::string_view> ClosestName(std::string_view written,
                                                          std::span<const std::string_view> names);

/// Returns "; did you mean `refill_rate`?", or an empty text.
[[nodiscard]] std::string DidYouMean(std::string_view written,
                                     std::span<const std::string_view> names);

/// Formats a text for messages: in backquotes, truncated if long.
[[nodiscard]] std::string Shown(std::string_view text);

}  // namespace sluice::config_text
