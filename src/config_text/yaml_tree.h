#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "config_text/position.h"

namespace sluice::config_text {

enum class YamlKind : std::uint8_t { kNull, kScalar, kSequence, kMapping };

/// A value of a YAML document. Aliases and merge keys are resolved, so a node may occur several
/// times in the tree. Lives as long as its tree.
struct YamlNode {
  YamlKind kind = YamlKind::kNull;
  bool quoted = false;       ///< Scalars: in quotes, or as a block.
  bool flow = false;         ///< Sequences and mappings: in brackets.
  Position position{};       ///< Start of the value; of an alias, that of its anchor.
  std::uint32_t offset = 0;  ///< Byte offset of the start, without a byte order mark.
  std::string_view text{};   ///< Scalars.
  /// Sequences: the items. Mappings: key, value, key, value, …
  std::span<const YamlNode* const> children{};
  std::uint64_t weight = 1;  ///< Number of values with all aliases expanded.
};

/// A syntax error.
struct YamlError {
  Position position;
  std::string message;
};

/// A document with positions, an order of magnitude smaller than YAML::Node.
class YamlTree {
 public:
  /// Parses a single document in UTF-8. Nesting and the expansion of aliases are bounded, so that
  /// recursion and iteration are bounded for hostile input.
  static std::variant<YamlTree, YamlError> Parse(std::string_view text);

  /// Parses JSON with `base/json_reader.h`. Strings become quoted scalars, numbers and literals
  /// plain ones. A duplicate name is an error.
  static std::variant<YamlTree, YamlError> ParseJson(std::string_view text);

  /// nullptr for an empty document.
  [[nodiscard]] const YamlNode* root() const { return root_; }

 private:
  friend class YamlBuilder;
  friend class JsonTreeBuilder;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
  const YamlNode* root_ = nullptr;
};

/// Returns whether a plain scalar is a JSON literal or number. Other plain scalars are texts, like
/// quoted ones.
[[nodiscard]] bool IsJsonWord(std::string_view text);

/// Returns whether two values are equal, independent of position and style.
[[nodiscard]] bool SameValue(const YamlNode& a, const YamlNode& b);

inline constexpr int kMaxYamlDepth = 64;
/// Maximum number of brackets and commas in a document.
inline constexpr std::size_t kMaxYamlMarks = 1'000'000;
/// Maximum number of values with expanded aliases.
inline constexpr std::uint64_t kMaxYamlWeight = 20'000'000;
/// Maximum number of fields added by merge keys.
inline constexpr std::uint64_t kMaxYamlMerged = 1'000'000;

}  // namespace sluice::config_text
