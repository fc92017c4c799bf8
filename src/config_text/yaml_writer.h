#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config_text/yaml_tree.h"

namespace sluice::config_text {

/// Spaces from one level of a block to the next.
inline constexpr std::size_t kYamlIndent = 2;

/// Returns a text in double quotes, escaped for YAML.
[[nodiscard]] std::string QuotedYaml(std::string_view text);

/// Appends a text as a YAML scalar for any context: plain if safe, else in quotes.
void AppendYamlText(std::string_view text, std::string& out);

/// Appends a value in one line.
void AppendYamlFlow(const YamlNode& node, std::string& out);

/// Appends a value in block style. `out` ends where the value begins: after "name:", after "- ", or
/// at the start of a line. Fields and items are indented by `indent` spaces. Ends with a line
/// break.
enum class BlockStart : std::uint8_t {
  kLine,  ///< At the start of a line, or after "- ": no line break comes first.
  kName,  ///< After "name:".
};
void AppendYamlBlock(const YamlNode& node, std::size_t indent, BlockStart start, std::string& out);

}  // namespace sluice::config_text
