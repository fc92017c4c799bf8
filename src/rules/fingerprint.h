#pragma once

#include <string>
#include <string_view>

namespace sluice::rules {

/// SHA-256 in hexadecimal digits, as sha256sum prints it: what an operator can compare.
[[nodiscard]] std::string Fingerprint(std::string_view content);

}  // namespace sluice::rules
