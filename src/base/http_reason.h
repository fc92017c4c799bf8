#pragma once

#include <string_view>

namespace sluice {

/// Returns the reason phrase: "Not Found" for 404, "Unknown" for codes without one.
[[nodiscard]] std::string_view HttpReason(int status);

}  // namespace sluice
