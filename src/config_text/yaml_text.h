#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "config_text/yaml_tree.h"

namespace sluice::config_text {

/// Returns line and column of a byte.
[[nodiscard]] Position PositionOf(std::string_view text, std::size_t offset);

/// Finds the first byte that is invalid in YAML: not UTF-8, or a control character. yaml-cpp
/// accepts such bytes, and treats some as the end of the file.
std::optional<YamlError> FindTextProblem(std::string_view text);

/// Finds the first bracket or comma beyond kMaxYamlMarks. yaml-cpp keeps all tokens of a flow
/// collection, of hundreds of bytes each, until the collection is closed.
std::optional<YamlError> FindTooManyMarks(std::string_view text);

/// Skips anchors and tags, with white space, before a value at `at`.
[[nodiscard]] std::size_t SkipYamlProperties(std::string_view text, std::size_t at);

/// Returns the position after the closing quote of the text that begins at `at`; npos if unclosed.
[[nodiscard]] std::size_t FindQuoteEnd(std::string_view text, std::size_t at);

}  // namespace sluice::config_text
