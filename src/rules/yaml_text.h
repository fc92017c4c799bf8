#pragma once

#include <optional>
#include <string_view>

#include "rules/yaml_tree.h"

namespace sluice::rules {

/// The first byte that can't stand in a YAML text: not UTF-8, or a control character. yaml-cpp
/// passes such bytes on, and takes some for the end of the file.
std::optional<YamlError> FindTextProblem(std::string_view text);

}  // namespace sluice::rules
