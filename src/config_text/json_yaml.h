#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "config_text/yaml_tree.h"

/// Conversion of whole documents between YAML and JSON. JSON → YAML → JSON is lossless: names and
/// their order, strings, numbers as written.
namespace sluice::config_text {

/// Maximum size of a converted document, also with expanded aliases.
inline constexpr std::size_t kMaxConvertedBytes = std::size_t{32} << 20;

/// Converts a YAML document to JSON, indented by two spaces. Plain scalars that are JSON literals
/// or numbers keep their type, all others become strings. Errors: invalid YAML, a duplicate name, a
/// name that is not a scalar, or a result above kMaxConvertedBytes.
[[nodiscard]] std::variant<std::string, YamlError> YamlAsJson(std::string_view yaml);

/// Converts a JSON document to YAML in block style. Errors: invalid JSON, a duplicate name, or a
/// name that is too long for YAML.
[[nodiscard]] std::variant<std::string, YamlError> JsonAsYaml(std::string_view json);

}  // namespace sluice::config_text
