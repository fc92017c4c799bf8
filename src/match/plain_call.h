#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "match/attributes.h"
#include "rules/model.h"

/// The meaning of the rule language in the simplest form: one step after the other, with
/// nothing compiled and nothing indexed. `Explain` is made of it.
namespace sluice::match {

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
/// an address and a host in their one way to be written.
[[nodiscard]] PlainCall PlainCallOf(Attributes attributes);

[[nodiscard]] bool PlainMatches(const rules::Pattern& pattern, std::string_view value);

[[nodiscard]] bool PlainHolds(const rules::Condition& condition, const PlainCall& call);

/// The template that the path is of; empty if there is none.
[[nodiscard]] std::string PlainTemplateOf(std::span<const std::string> templates,
                                          std::string_view path);

}  // namespace sluice::match
