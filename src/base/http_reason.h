#pragma once

#include <string_view>

namespace sluice {

/// "Not Found" for 404; "Unknown" for what has no name.
[[nodiscard]] std::string_view HttpReason(int status);

}  // namespace sluice
