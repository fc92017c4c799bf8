#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::config_text {

/// The path from the root of a document to a value. Created for every mapping and list; formatted
/// only for errors.
struct FieldPath {
  const FieldPath* parent = nullptr;  ///< nullptr: the root.
  std::string_view name{};            ///< Name of a mapping's value.
  std::size_t index = 0;              ///< Index of a list's item.
  bool is_item = false;
};

/// Formats a path, such as "rules[2].override["sk live"].capacity", with `name` appended if not
/// empty.
std::string Describe(const FieldPath* path, std::string_view name = {});

}  // namespace sluice::config_text
