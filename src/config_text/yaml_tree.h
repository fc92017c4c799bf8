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

/// A value of a YAML document. Aliases are resolved (a value may be found at several places of the
/// tree), merge keys too. Lives as long as its tree.
struct YamlNode {
  YamlKind kind = YamlKind::kNull;
  bool quoted = false;       ///< Scalars: in quotes, or as a block.
  bool flow = false;         ///< Sequences and mappings: in brackets.
  Position position{};       ///< Where it begins; behind an alias, where the anchor is.
  std::uint32_t offset = 0;  ///< The same as a byte of the text, not counting a byte order mark.
  std::string_view text{};   ///< Scalars.
  /// Sequences: the items. Mappings: key, value, key, value, …
  std::span<const YamlNode* const> children{};
  std::uint64_t weight = 1;  ///< How many values it stands for, with every alias written out.
};

/// Why a text is no tree.
struct YamlError {
  Position position;
  std::string message;
};

/// A document with the position of everything in it, an order of magnitude lighter than YAML::Node.
class YamlTree {
 public:
  /// Only one document, in UTF-8. Nesting and the expansion of aliases are bounded, so that walking
  /// the tree is neither deep nor long, even for hostile input.
  static std::variant<YamlTree, YamlError> Parse(std::string_view text);

  /// Parses JSON, as `base/json_reader.h` does. Strings are quoted scalars, numbers and words are
  /// plain ones. A name that is there twice is an error.
  static std::variant<YamlTree, YamlError> ParseJson(std::string_view text);

  /// nullptr: there is nothing but white space and comments.
  [[nodiscard]] const YamlNode* root() const { return root_; }

 private:
  friend class YamlBuilder;
  friend class JsonTreeBuilder;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
  const YamlNode* root_ = nullptr;
};

/// Whether a plain scalar is a value of JSON: `true`, `false`, `null`, or a number. Other plain
/// scalars are texts, like quoted ones.
[[nodiscard]] bool IsJsonWord(std::string_view text);

/// Whether two values are the same, wherever and in whichever style they are written.
[[nodiscard]] bool SameValue(const YamlNode& a, const YamlNode& b);

inline constexpr int kMaxYamlDepth = 64;
/// The most brackets and commas of a document, wherever they are.
inline constexpr std::size_t kMaxYamlMarks = 1'000'000;
/// The most that aliases may blow a document up to.
inline constexpr std::uint64_t kMaxYamlWeight = 20'000'000;
/// The most fields that merge keys may bring.
inline constexpr std::uint64_t kMaxYamlMerged = 1'000'000;

}  // namespace sluice::config_text
