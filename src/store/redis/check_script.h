#pragma once

#include <string_view>

namespace sluice::store {

/// The complete Lua script (check.lua with its fragments) and its SHA-1, for EVALSHA.
extern const std::string_view kCheckScript;
extern const std::string_view kCheckScriptSha;

}  // namespace sluice::store
