#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "rules/model.h"

namespace sluice::rules {

enum class YamlKind : std::uint8_t { kNull, kScalar, kSequence, kMapping };

/// A value of a YAML document. Aliases are resolved (a value may be found at several places of the
/// tree), merge keys too. Lives as long as its tree.
struct YamlNode {
  YamlKind kind = YamlKind::kNull;
  bool quoted = false;      ///< Scalars: in quotes, or as a block.
  Position position;        ///< Where it begins; behind an alias, where the anchor is.
  std::string_view text{};  ///< Scalars.
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
  /// the tree is neither deep nor long, whoever wrote it.
  static std::variant<YamlTree, YamlError> Parse(std::string_view text);

  /// nullptr: there is nothing but white space and comments.
  [[nodiscard]] const YamlNode* root() const { return root_; }

 private:
  friend class YamlBuilder;
  std::unique_ptr<std::pmr::monotonic_buffer_resource> memory_;
  const YamlNode* root_ = nullptr;
};

inline constexpr int kMaxYamlDepth = 64;
/// The most that aliases may blow a document up to.
inline constexpr std::uint64_t kMaxYamlWeight = 20'000'000;
/// The most fields that merge keys may bring.
inline constexpr std::uint64_t kMaxYamlMerged = 1'000'000;

}  // namespace sluice::rules
