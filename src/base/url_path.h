#pragma once

#include <span>
#include <string_view>

namespace sluice {

/// One way to write a path, of the many that servers take for the same: what could be written
/// plainly is, "//" is "/", "/a/../b" and "/./b" are "/b", and a '/' at the end is left out. What
/// stands for '/' or '%' or a control character stays escaped, in capitals, so that two paths that
/// differ stay different. What follows a '%' and is no escape stays as it is.
///
/// The result is in `room`, which has at least the path's size. Begins with '/' always.
[[nodiscard]] std::string_view NormalizePath(std::string_view path, std::span<char> room);

}  // namespace sluice
