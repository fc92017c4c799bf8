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

/// Templates such as "/v1/orders/{id}", which make one endpoint of many paths. `{name}` stands for
/// one segment; `{name...}` or '*' at the end for one or more.
///
/// Immutable, so any thread may look. Looking allocates nothing. It takes one step per segment
/// where templates don't compete, and never more than there are segments in all templates.
class EndpointTemplates {
 public:
  EndpointTemplates() = default;
  /// Takes templates without a problem, which must outlive this.
  explicit EndpointTemplates(std::span<const std::string> templates);

  /// The template that the path is of, or empty text. A literal segment beats a parameter, which
  /// beats the rest, from left to right; of equals the first. Empty segments don't count: "/a//b/"
  /// is "/a/b".
  [[nodiscard]] std::string_view Find(std::string_view path) const;

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Node {
    std::uint32_t parameter = kNone;  ///< The node behind a parameter.
    std::string_view whole;           ///< The template that ends here.
    std::string_view rest;            ///< The template of which the rest begins here.
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
