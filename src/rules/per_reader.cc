#include "rules/per_reader.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

// "": no attribute, which is one budget for all; "custom": those that the rule names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kScopes = {{
    {"global", ""},
    {"per_user", "user"},
    {"per_ip", "ip"},
    {"per_key", "api_key"},
    {"per_api_key", "api_key"},
    {"per_endpoint", "endpoint"},
    {"per_tenant", "tenant"},
    {"per_model", "model"},
    {"custom", "custom"},
}};

std::vector<std::string> ReadAttributes(config_text::Reading& reading,
                                        const config_text::Field& field,
                                        std::vector<config_text::Field>& fields) {
  std::vector<std::string> attributes;
  for (const config_text::Field& item : reading.Items(field)) {
    const auto name = reading.Text(item, "the name of an attribute such as api_key");
    if (!name) continue;
    if (*name == "global") {
      reading.AddError(item,
                       "expected the name of an attribute, found `global`; one budget for all "
                       "calls is `per: []`");
    } else if (std::find(attributes.begin(), attributes.end(), *name) != attributes.end()) {
      reading.AddError(item, config_text::Shown(*name) + " stands here twice");
    } else {
      attributes.emplace_back(*name);
      fields.push_back(item);
    }
  }
  return attributes;
}

}  // namespace

std::optional<std::vector<std::string>> ReadPer(const config_text::Mapping& rule,
                                                std::vector<config_text::Field>& fields) {
  config_text::Reading& reading = rule.reading();
  const config_text::Field per = rule["per"];
  const config_text::Field scope = rule["scope"];
  const config_text::Field attributes = rule["attributes"];
  if (per && scope) (void)rule.Either("per", "scope");
  const auto scoped = scope ? reading.Choice<std::string_view>(scope, kScopes) : std::nullopt;
  const bool custom = scoped && *scoped == "custom";
  if (attributes && !custom) {
    reading.AddNameError(attributes, "is of no use without `scope: custom`");
  }
  if (per) return ReadAttributes(reading, per, fields);
  if (!scoped) return std::nullopt;
  if (!custom) {
    std::vector<std::string> one;
    if (!scoped->empty()) one.emplace_back(*scoped);
    return one;
  }
  if (!attributes) {
    reading.AddError(scope, "needs `attributes`, such as `attributes: [tenant, model]`");
    return std::nullopt;
  }
  auto named = ReadAttributes(reading, attributes, fields);
  if (attributes->kind == config_text::YamlKind::kSequence && attributes->children.empty()) {
    reading.AddError(attributes, "names no attribute; one budget for all calls is `scope: global`");
  }
  return named;
}

std::string ReadHashTag(const config_text::Mapping& rule,
                        const std::optional<std::vector<std::string>>& per) {
  config_text::Reading& reading = rule.reading();
  const config_text::Field field = rule["hash_tag"];
  if (!field) return {};
  const auto name = reading.Text(field, "the name of an attribute");
  if (!name) return {};
  if (!per) {
    reading.AddError(field, "needs a `per` that has " + config_text::Shown(*name) + " in it");
  } else if (std::find(per->begin(), per->end(), *name) == per->end()) {
    const std::vector<std::string_view> names(per->begin(), per->end());
    reading.AddError(field, "must be one of the attributes of `per`, found " +
                                config_text::Shown(*name) + config_text::DidYouMean(*name, names));
  }
  return std::string(*name);
}

}  // namespace sluice::rules
