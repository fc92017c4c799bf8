#include "rules/attribute_checks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

class AttributeChecker {
 public:
  AttributeChecker(config_text::Reading& reading, const AttributeNames& names,
                   std::span<const std::string> quantities)
      : reading_(reading), names_(names), quantities_(quantities) {}

  void CheckPer(const ReadRule& read) {
    for (const config_text::Field& field : read.per_fields) {
      if (!names_.Knows(field->text)) Report(field, read.rule.on_missing);
    }
  }

  void CheckConditions(const ReadRule& read) {
    for (const Condition& condition : read.rule.match) {
      if (names_.Knows(condition.attribute)) continue;
      reading_.AddErrorAt(condition.position, reading_.PathOf(read.field),
                          Undeclared(condition.attribute));
    }
  }

  void CheckCosts(const ReadRule& read) {
    std::vector<std::string_view> reported;
    const auto check = [&](const Limits& limits) {
      for (const NamedLimit& limit : limits) {
        const std::string& name = limit.cost.attribute;
        if (name.empty() || names_.Knows(name) || IsQuantity(name)) continue;
        if (std::find(reported.begin(), reported.end(), name) != reported.end()) continue;
        reported.push_back(name);
        reading_.AddError(read.field, "its cost: " + Undeclared(name));
      }
    };
    check(read.rule.variants.usual);
    for (const auto& [tier, limits] : read.rule.variants.by_tier) check(limits);
  }

 private:
  void Report(const config_text::Field& field, std::optional<OnMissing> on_missing) {
    const std::string_view name = field->text;
    constexpr std::string_view kElse = "name it in the file's `attributes`";
    if (names_.is_declared()) {
      reading_.AddError(field, Undeclared(name));
    } else if (const auto meant = MisspelledAttribute(name)) {
      reading_.AddError(field, "unknown attribute " + config_text::Shown(name) + "; did you mean " +
                                   config_text::Shown(*meant) + "? Else " + std::string(kElse));
    } else if (on_missing.value_or(OnMissing::kSkip) == OnMissing::kSkip &&
               warned_.insert(name).second) {
      const std::string suggestion = names_.Suggestion(name);
      reading_.AddWarning(
          field, config_text::Shown(name) +
                     " is no usual attribute, and calls without it pass the rule" +
                     (suggestion.empty() ? "; if callers send it, " : suggestion + " Else ") +
                     std::string(kElse));
    }
  }

  std::string Undeclared(std::string_view name) const {
    return config_text::Shown(name) + " is not among the file's `attributes`" +
           names_.Suggestion(name);
  }

  [[nodiscard]] bool IsQuantity(std::string_view name) const {
    return std::find(kUsualQuantities.begin(), kUsualQuantities.end(), name) !=
               kUsualQuantities.end() ||
           std::find(quantities_.begin(), quantities_.end(), name) != quantities_.end();
  }

  config_text::Reading& reading_;
  const AttributeNames& names_;
  std::span<const std::string> quantities_;      ///< That the file declares.
  std::unordered_set<std::string_view> warned_;  ///< Once for each name is enough.
};

}  // namespace

void CheckAttributes(config_text::Reading& reading, const AttributeNames& names,
                     std::span<const std::string> quantities, std::span<const ReadRule> rules) {
  AttributeChecker checker(reading, names, quantities);
  for (const ReadRule& read : rules) {
    checker.CheckPer(read);
    if (!names.is_declared()) continue;
    checker.CheckConditions(read);
    checker.CheckCosts(read);
  }
}

}  // namespace sluice::rules
