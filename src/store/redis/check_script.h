#pragma once

#include <string_view>

namespace sluice::store {

/// check.lua with all its fragments, as Redis gets it, and the hash by which Redis knows it.
extern const std::string_view kCheckScript;
extern const std::string_view kCheckScriptSha;

}  // namespace sluice::store
