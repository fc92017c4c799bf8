#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "config_text/yaml_tree.h"

namespace sluice::config_text {

/// Spaces from one level of a block to the next.
inline constexpr std::size_t kYamlIndent = 2;

/// Returns a text in double quotes, which YAML reads as this text.
[[nodiscard]] std::string QuotedYaml(std::string_view text);

/// Appends a text so that YAML, in any context, reads it as this text: plain if that is certain,
/// else in quotes.
void AppendYamlText(std::string_view text, std::string& out);

/// Appends a value in one line.
void AppendYamlFlow(const YamlNode& node, std::string& out);

/// Appends a value in block style. `out` ends where the value begins: behind "name:", behind "- ",
/// or at the beginning of a line. The fields of a mapping and the items of a list are indented by
/// `indent` spaces. Ends with a line end.
enum class BlockStart : std::uint8_t {
  kLine,  ///< At the beginning of a line, or behind "- ": no line end comes first.
  kName,  ///< Behind "name:".
};
void AppendYamlBlock(const YamlNode& node, std::size_t indent, BlockStart start, std::string& out);

}  // namespace sluice::config_text
