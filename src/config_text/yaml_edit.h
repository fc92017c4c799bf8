#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config_text/yaml_tree.h"

/// Textual edits of one entry of a list or mapping at the top level of a document: all bytes that
/// do not belong to the entry are preserved. An entry in block style consists of its lines: from
/// its dash or name to the end of the last line of its value. Comments before and after it are
/// preserved.
///
/// Entries are located by the positions of the parsed text; aliases and explicit `?` keys are not
/// supported. The caller must parse the result and compare, because the scanner does not know all
/// of YAML.
namespace sluice::config_text {

/// A parsed document and its text, without a byte order mark.
struct YamlSource {
  std::string_view text;
  const YamlNode* root = nullptr;  ///< A mapping.
};

/// A new entry.
struct YamlEntry {
  std::string_view name{};  ///< Name of a mapping's entry.
  const YamlNode* value = nullptr;
  /// The value as lines in block style from column 1, used verbatim; may be empty.
  std::string_view lines{};
};

/// Replaces entry `index` of the root's field at `field` (the index of its name in `children`).
[[nodiscard]] std::optional<std::string> ReplaceEntry(const YamlSource& source, std::size_t field,
                                                      std::size_t index, const YamlEntry& entry);
/// Removes an entry. A list or mapping without entries becomes `[]` or `{}`.
[[nodiscard]] std::optional<std::string> RemoveEntry(const YamlSource& source, std::size_t field,
                                                     std::size_t index);
/// Adds an entry after the last one.
[[nodiscard]] std::optional<std::string> AddEntry(const YamlSource& source, std::size_t field,
                                                  const YamlEntry& entry);
/// Adds a field with one entry after the last field of the root.
[[nodiscard]] std::optional<std::string> AddField(const YamlSource& source, std::string_view name,
                                                  YamlKind kind, const YamlEntry& entry);

}  // namespace sluice::config_text
