#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Further differences of paths that the server behind a proxy ignores.
struct PathFolding {
  bool letter_case = false;    ///< "/Login" is "/login".
  bool parameters = false;     ///< "/login;a=b/x" is "/login/x"; an escaped ';' begins none.
  bool trailing_dots = false;  ///< "/login." is "/login": dots and blanks that end a segment.

  friend bool operator==(const PathFolding&, const PathFolding&) = default;
};

/// "case", "parameters", "trailing_dots"; nothing if one of the names is none of these.
[[nodiscard]] std::optional<PathFolding> ParsePathFolding(std::span<const std::string> names);

/// The names of what is folded, as ParsePathFolding reads them.
[[nodiscard]] std::vector<std::string> NamesOf(PathFolding folding);

/// One way to write a path, of the many that servers take for the same: what could be written
/// plainly is, "//" is "/", "/a/../b" and "/./b" are "/b", and a '/' at the end is left out. What
/// stands for '/', '%', '?', '#' or a control character stays escaped, in capitals (in lower case
/// where case is folded), so that two paths that differ stay different, and no byte of a path ends
/// it. What follows a '%' and is no escape stays as it is.
///
/// The result is in `room`, which has at least the path's size. Begins with '/' always.
[[nodiscard]] std::string_view NormalizePath(std::string_view path, std::span<char> room,
                                             PathFolding folding = {});

}  // namespace sluice
