#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Optional normalizations, for backends that ignore these differences of paths.
struct PathFolding {
  bool letter_case = false;  ///< "/Login" becomes "/login".
  bool parameters =
      false;  ///< "/login;a=b/x" becomes "/login/x"; an escaped ';' is not a parameter.
  bool trailing_dots =
      false;  ///< "/login." becomes "/login": dots and blanks at the end of a segment.

  friend bool operator==(const PathFolding&, const PathFolding&) = default;
};

/// Parses "case", "parameters" and "trailing_dots"; nothing if a name is unknown.
[[nodiscard]] std::optional<PathFolding> ParsePathFolding(std::span<const std::string> names);

/// Returns the names that ParsePathFolding parses.
[[nodiscard]] std::vector<std::string> NamesOf(PathFolding folding);

/// Normalizes a path: unnecessary escapes are decoded, "//" becomes "/", "/a/../b" and "/./b"
/// become "/b", and a trailing '/' is removed. '/', '%', '?', '#' and control characters stay
/// escaped, in upper case (in lower case if case is folded), so that different paths stay
/// different. An invalid escape stays as it is.
///
/// The result is in `buffer`, which must be at least as long as the path. Always begins with '/'.
[[nodiscard]] std::string_view NormalizePath(std::string_view path, std::span<char> buffer,
                                             PathFolding folding = {});

}  // namespace sluice
