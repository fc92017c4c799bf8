#pragma once

#include <string_view>

namespace sluice::server {

extern const std::string_view kVersion;

}  // namespace sluice::server
