#include "rules/override_checks.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/network.h"
#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

/// The conditions of a rule on one attribute.
class AttributeConditions {
 public:
  AttributeConditions(const Rule& rule, std::string_view attribute) {
    for (const Condition& condition : rule.match) {
      if (condition.attribute != attribute) continue;
      if (condition.presence == Presence::kAbsent) absent_ = true;
      if (condition.presence != Presence::kAbsent) needed_ = true;
      if (!condition.any_of.empty()) {
        conditions_.push_back(&condition);
        sets_.emplace_back(condition.any_of, condition.ignore_case);
      }
    }
    // An endpoint matches as a path or as its template; an override may have either.
    if (attribute == "endpoint") sets_.clear();
  }

  [[nodiscard]] bool absent() const { return absent_; }
  /// The rule is only for calls that have the attribute.
  [[nodiscard]] bool needed() const { return needed_; }
  [[nodiscard]] bool Accept(const Pattern& whose) const { return Excluding(whose) == nullptr; }
  /// Returns the condition that does not hold for it, or null.
  [[nodiscard]] const Condition* Excluding(const Pattern& whose) const {
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      const bool holds = whose.kind == PatternKind::kExact ? sets_[i].Matches(whose.text)
                                                           : sets_[i].MayOverlap(whose.text);
      if (!holds) return conditions_[i];
    }
    return nullptr;
  }

 private:
  bool absent_ = false;
  bool needed_ = false;
  std::vector<const Condition*> conditions_;
  std::vector<PatternSet> sets_;
};

class OverrideChecker {
 public:
  OverrideChecker(config_text::Reading& reading, const ReadRule& rule, const PatternSet* known_keys)
      : reading_(reading),
        rule_(rule),
        known_keys_(known_keys),
        by_client_(!rule.rule.per),
        attribute_(by_client_ ? "api_key" : rule.rule.per->front()),
        conditions_(rule.rule, attribute_),
        addresses_(rule.rule, "ip") {}

  void Check() {
    for (std::size_t i = 0; i < rule_.rule.overrides.size(); ++i) {
      const Pattern& whose = rule_.rule.overrides[i].whose;
      const config_text::Field& field = rule_.override_fields[i];
      const std::string problem = Problem(whose);
      if (!problem.empty()) {
        reading_.AddNameError(field, "can never match: " + problem);
      } else if (whose.kind == PatternKind::kGlob) {
        CheckEarlier(whose, field);
      }
    }
  }

 private:
  /// Why no call can have it; empty if one can.
  [[nodiscard]] std::string Problem(const Pattern& whose) const {
    const bool exact = whose.kind == PatternKind::kExact;
    if (attribute_ == "ip") return AddressProblem(whose);
    if (by_client_ && exact && ParseAddress(whose.text) && !conditions_.needed() &&
        addresses_.Accept(whose) && !addresses_.absent()) {
      return {};
    }
    if (conditions_.absent()) return "the rule is for calls without `" + attribute_ + "`";
    if (const Condition* condition = conditions_.Excluding(whose)) return Excluded(*condition);
    if (attribute_ == "api_key" && known_keys_ != nullptr) {
      const bool known =
          exact ? known_keys_->Matches(whose.text) : known_keys_->MayOverlap(whose.text);
      if (!known) return "`known_keys` has no pattern for it";
    }
    return {};
  }

  [[nodiscard]] std::string AddressProblem(const Pattern& whose) const {
    if (conditions_.absent()) return "the rule is for calls without `ip`";
    if (whose.kind != PatternKind::kExact) return {};
    if (!ParseAddress(whose.text)) {
      return ParseNetwork(whose.text)
                 ? "an override is for one address; for a network write a rule with `match: {ip: " +
                       whose.text + "}`"
                 : "it is no address, and the budget is per `ip`";
    }
    const Condition* condition = conditions_.Excluding(whose);
    return condition != nullptr ? Excluded(*condition) : std::string();
  }

  static std::string Excluded(const Condition& condition) {
    return "the rule's own condition on `" + condition.attribute + "`, on line " +
           std::to_string(condition.position.line) + ", excludes it";
  }

  // Of globs, the first that matches wins.
  void CheckEarlier(const Pattern& whose, const config_text::Field& field) {
    const std::string_view prefix = LiteralPrefix(whose.text);
    for (std::size_t length = 0; length <= prefix.size(); ++length) {
      const auto earlier = prefixes_.find(prefix.substr(0, length));
      if (earlier == prefixes_.end()) continue;
      reading_.AddNameError(field, "can never match: " + config_text::Shown(earlier->second.name) +
                                       " on line " + std::to_string(earlier->second.key.line) +
                                       " comes first and matches all of it");
      return;
    }
    if (const auto simple = PrefixOfSimpleGlob(whose.text)) prefixes_.emplace(*simple, field);
  }

  config_text::Reading& reading_;
  const ReadRule& rule_;
  const PatternSet* known_keys_;
  bool by_client_;
  std::string attribute_;
  AttributeConditions conditions_;
  AttributeConditions addresses_;
  std::unordered_map<std::string_view, config_text::Field> prefixes_;
};

}  // namespace

void CheckOverrides(config_text::Reading& reading, const ReadRule& rule,
                    const PatternSet* known_keys) {
  const bool global = rule.rule.per && rule.rule.per->empty();
  if (rule.rule.overrides.empty() || global) return;
  OverrideChecker(reading, rule, known_keys).Check();
}

}  // namespace sluice::rules
