#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "config_text/yaml_tree.h"

/// Conversion of whole documents between YAML and JSON. From JSON to YAML and back, every value is
/// the same: names and their order, strings, numbers as they are written.
namespace sluice::config_text {

/// The largest document that a conversion makes; aliases can't expand it beyond.
inline constexpr std::size_t kMaxConvertedBytes = std::size_t{32} << 20;

/// Renders a YAML document as JSON, indented by two spaces. Plain scalars that are `true`, `false`,
/// `null` or numbers of JSON are these, all others are strings. Errors: no YAML, a name that is
/// there twice, a name that is not a scalar, or a result above kMaxConvertedBytes.
[[nodiscard]] std::variant<std::string, YamlError> YamlAsJson(std::string_view yaml);

/// Renders a JSON document as YAML in block style. Errors: no JSON, a name that is there twice, or
/// one that is too long for YAML.
[[nodiscard]] std::variant<std::string, YamlError> JsonAsYaml(std::string_view json);

}  // namespace sluice::config_text
