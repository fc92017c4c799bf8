#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/flat_index.h"

namespace sluice::rules {

/// Returns the error in a template; nothing if it is valid.
[[nodiscard]] std::optional<std::string> TemplateProblem(std::string_view text);

/// Templates such as "/v1/orders/{id}", which map many paths to one endpoint. `{name}` matches one
/// segment; `{name...}` or '*' at the end one or more.
///
/// Immutable and thread-safe. A lookup does not allocate. It takes one step per segment unless
/// templates overlap, and never more than the number of segments in all templates.
class EndpointTemplates {
 public:
  EndpointTemplates() = default;
  /// Takes valid templates, which must outlive this.
  explicit EndpointTemplates(std::span<const std::string> templates);

  /// Returns the template of a path, or an empty text. A literal segment takes precedence over a
  /// parameter, and that over the rest, from left to right; of equal templates, the first. Empty
  /// segments are ignored: "/a//b/" is "/a/b".
  [[nodiscard]] std::string_view Find(std::string_view path) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Node {
    std::uint32_t parameter = kNone;  ///< Child for a parameter.
    std::string_view whole;           ///< The template that ends here.
    std::string_view rest;            ///< The template whose `{name...}` begins here.
  };
  struct Edge {
    std::uint32_t from = kNone;
    std::uint32_t to = kNone;
    std::string_view segment;
    [[nodiscard]] bool empty() const { return from == kNone; }
  };

  void Add(std::string_view text);
  std::uint32_t LiteralChild(std::uint32_t from, std::string_view segment) const;
  std::uint32_t AddLiteralChild(std::uint32_t from, std::string_view segment);
  [[nodiscard]] std::string_view FindFrom(std::uint32_t node, std::string_view path) const;

  std::vector<Node> nodes_;
  FlatIndex<Edge> edges_;
  std::size_t edge_count_ = 0;
};

}  // namespace sluice::rules
