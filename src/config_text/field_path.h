#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::config_text {

/// The way from the root of a document to a value. Made for every mapping and list, written out
/// only for an error.
struct FieldPath {
  const FieldPath* parent = nullptr;  ///< nullptr: the root.
  std::string_view name{};            ///< Of a mapping's value.
  std::size_t index = 0;              ///< Of a list's item.
  bool is_item = false;
};

/// "rules[2].override["sk live"].capacity": `name`, if there is one, below `path`.
std::string Describe(const FieldPath* path, std::string_view name = {});

}  // namespace sluice::config_text
