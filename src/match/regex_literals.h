#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "match/literal_index.h"

namespace sluice::match {

/// Facts about a regular expression without running it. Where this is not certain it says
/// nothing, never something wrong.
struct RegexShape {
  /// Every value matches, as with ".*".
  bool matches_all = false;
  /// Set: a value matches if and only if it has this literal, as with "^/v1/orders.*".
  std::optional<Literal> just;
  /// Of each of these lists, a value that matches has at least one literal: "^/(a|b)/cd" has
  /// [["/" at the beginning], ["a", "b"], ["/cd"]].
  std::vector<std::vector<Literal>> one_of_each;
};

/// Takes an expression that RE2 accepts.
[[nodiscard]] RegexShape ShapeOf(std::string_view regex);

}  // namespace sluice::match
