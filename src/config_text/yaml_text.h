#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "config_text/yaml_tree.h"

namespace sluice::config_text {

/// The first byte that can't stand in a YAML text: not UTF-8, or a control character. yaml-cpp
/// passes such bytes on, and takes some for the end of the file.
std::optional<YamlError> FindTextProblem(std::string_view text);

/// The bracket or comma that is one too many (kMaxYamlMarks). yaml-cpp holds all tokens of a flow
/// collection, of hundreds of bytes each, until the collection is closed.
std::optional<YamlError> FindTooManyMarks(std::string_view text);

/// Skips anchors, tags and the white space behind them, which come before a value at `at`.
[[nodiscard]] std::size_t SkipYamlProperties(std::string_view text, std::size_t at);

/// Returns the end of the quoted text that begins at `at`, behind its quote; npos: it has none.
[[nodiscard]] std::size_t FindQuoteEnd(std::string_view text, std::size_t at);

}  // namespace sluice::config_text
