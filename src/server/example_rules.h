#pragma once

#include <string_view>

namespace sluice::server {

/// The rules of a server that was given none.
extern const std::string_view kExampleRules;

}  // namespace sluice::server
