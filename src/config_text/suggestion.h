#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice::config_text {

/// The name that was probably meant: the one with the fewest slips of the pen (a letter wrong,
/// missing, too many, or two swapped), if there are few enough of them.
[[nodiscard]] std::optional<std::string_view> ClosestName(std::string_view written,
                                                          std::span<const std::string_view> names);

/// "; did you mean `refill_rate`?", or nothing.
[[nodiscard]] std::string DidYouMean(std::string_view written,
                                     std::span<const std::string_view> names);

/// The text as messages show it: in backquotes, and cut if it is long.
[[nodiscard]] std::string Shown(std::string_view text);

}  // namespace sluice::config_text
