#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "rules/attributes.h"
#include "rules/model.h"

/// What the language means, written down in the plainest way: one thing after the other, with
/// nothing compiled and nothing indexed. `Explain` is made of it.
namespace sluice::rules {

/// A call's attributes by name; those without a value are not there.
struct PlainCall {
  std::map<std::string, std::string, std::less<>> values;
  std::string raw_key;            ///< The API key even if it is not a known one.
  std::string endpoint_template;  ///< Empty: none.
  bool tier_known = false;

  /// Empty if the call has none.
  [[nodiscard]] std::string Get(std::string_view name) const;
};

/// The attributes as conditions see them: the first of each name, the endpoint without its query,
/// an address in its one way to be written.
[[nodiscard]] PlainCall PlainCallOf(Attributes attributes);

[[nodiscard]] bool PlainMatches(const Pattern& pattern, std::string_view value);

[[nodiscard]] bool PlainHolds(const Condition& condition, const PlainCall& call);

/// The template that the path is of; empty if there is none.
[[nodiscard]] std::string PlainTemplateOf(std::span<const std::string> templates,
                                          std::string_view path);

}  // namespace sluice::rules
