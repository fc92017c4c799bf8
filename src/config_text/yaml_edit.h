#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config_text/yaml_tree.h"

/// Edits of one entry of a list or mapping that is a field of a document's root, as text: all bytes
/// that do not belong to the entry stay. An entry in block style is its lines: from its dash or
/// name to the end of the last line of its value. Comments before it and after it stay.
///
/// Positions are those of the parsed text; what can't be found from them (an alias, an explicit
/// `?`) is not edited. The caller parses the result and compares, because no scanner knows all of
/// YAML.
namespace sluice::config_text {

/// A parsed document and its text, without a byte order mark.
struct YamlSource {
  std::string_view text;
  const YamlNode* root = nullptr;  ///< A mapping.
};

/// A new entry.
struct YamlEntry {
  std::string_view name{};  ///< Of a mapping's entry.
  const YamlNode* value = nullptr;
  /// The value as lines in block style, from column 1, to be used as they are; may be empty.
  std::string_view lines{};
};

/// Replaces entry `index` of the root's field at `field` (an index of children: a name's).
[[nodiscard]] std::optional<std::string> ReplaceEntry(const YamlSource& source, std::size_t field,
                                                      std::size_t index, const YamlEntry& entry);
/// Removes it. A list or mapping without entries stays as `[]` or `{}`.
[[nodiscard]] std::optional<std::string> RemoveEntry(const YamlSource& source, std::size_t field,
                                                     std::size_t index);
/// Adds an entry behind the last one.
[[nodiscard]] std::optional<std::string> AddEntry(const YamlSource& source, std::size_t field,
                                                  const YamlEntry& entry);
/// Adds a field with one entry behind the last field of the root.
[[nodiscard]] std::optional<std::string> AddField(const YamlSource& source, std::string_view name,
                                                  YamlKind kind, const YamlEntry& entry);

}  // namespace sluice::config_text
