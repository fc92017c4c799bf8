#include "rules/reader.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "base/network.h"
#include "base/read_file.h"
#include "config_text/mapping.h"
#include "config_text/reading.h"
#include "config_text/suggestion.h"
#include "config_text/yaml_tree.h"
#include "rules/attribute_checks.h"
#include "rules/count_reader.h"
#include "rules/denial_reader.h"
#include "rules/endpoint_templates.h"
#include "rules/field_names.h"
#include "rules/file_checks.h"
#include "rules/pattern_cover.h"
#include "rules/pattern_reader.h"
#include "rules/penalty_reader.h"
#include "rules/rule_reader.h"

namespace sluice::rules {
namespace {

constexpr std::array<std::pair<std::string_view, DefaultAction>, 2> kDefaults = {{
    {"allow", DefaultAction::kAllow},
    {"deny", DefaultAction::kDeny},
}};

/// Reads a whole document.
class FileReader {
 public:
  FileReader(config_text::Reading& reading, const config_text::Field& root)
      : reading_(reading), mapping_(reading, root, FileFields()) {}

  RuleFile Read() {
    file_.name = reading_.file();
    if (!mapping_.ok()) return std::move(file_);
    if (const config_text::Field field = mapping_["attributes"]) {
      defaults_.attributes.Declare(reading_, field);
    }
    if (const config_text::Field field = mapping_["quantities"]) {
      file_.quantities = ReadQuantities(reading_, field);
    }
    if (const config_text::Field field = mapping_["models"]) {
      file_.models = ReadModels(reading_, field);
    }
    ReadDefaults();
    ReadTiers();
    ReadRules("rules");
    ReadRules("rate_limits");
    ReadList("allow", "whitelist", file_.allow);
    ReadList("deny", "blacklist", file_.deny);
    ReadKeys();
    ReadKnownKeys();
    ReadEndpoints();
    if (const config_text::Field field = mapping_["default"]) {
      file_.otherwise =
          reading_.Choice<DefaultAction>(field, kDefaults).value_or(DefaultAction::kAllow);
    }
    CheckTiers();
    CheckAttributes(reading_, defaults_.attributes, file_.quantities, rules_);
    CheckPrices();
    WarnOfDenyingAll();
    WarnOfUnusedNames();
    CheckRules(reading_, file_, InOrder(rules_));
    TakeRules();
    CollectQuantities(file_);
    return std::move(file_);
  }

 private:
  void ReadDefaults() {
    const config_text::Field failure = mapping_["on_store_failure"];
    const config_text::Field emergency = mapping_["emergency_limit"];
    const config_text::Field full = mapping_["when_full"];
    if (full) defaults_.when_full = ReadWhenFull(reading_, full);
    if (failure) defaults_.on_store_failure = ReadOnStoreFailure(reading_, failure);
    if (emergency) defaults_.emergency = ReadLoneLimit(reading_, emergency);
    const config_text::Field field = mapping_["defaults"];
    if (!field) return;
    const config_text::Mapping mapping(reading_, field, DefaultsFields());
    if (!mapping.ok()) return;
    defaults_.levels.defaults = ReadNamedLevels(mapping, Level::kDefaults);
    if (const config_text::Field consistency = mapping["consistency"]) {
      defaults_.consistency = ReadConsistency(reading_, consistency);
    }
    if (const config_text::Field headers = mapping["headers"])
      defaults_.headers = reading_.Flag(headers);
    if (const config_text::Field denial = mapping["denial"])
      defaults_.denial = ReadDenial(reading_, denial);
    if (const config_text::Field penalty = mapping["penalty"]) {
      defaults_.penalty = ReadPenalty(reading_, penalty);
    }
    if (const config_text::Field inner = mapping["on_store_failure"]) {
      defaults_.on_store_failure = ReadOnStoreFailure(reading_, inner);
      ReportTwice(inner, failure);
    }
    if (const config_text::Field inner = mapping["when_full"]) {
      defaults_.when_full = ReadWhenFull(reading_, inner);
      ReportTwice(inner, full);
    }
    if (const config_text::Field inner = mapping["emergency_limit"]) {
      defaults_.emergency = ReadLoneLimit(reading_, inner);
      ReportTwice(inner, emergency);
    }
  }

  void ReportTwice(const config_text::Field& inner, const config_text::Field& outer) {
    if (!outer) return;
    reading_.AddNameError(
        inner, "stands outside of `defaults` already, on line " + std::to_string(outer.key.line));
  }

  void ReadTiers() {
    const config_text::Field field = mapping_["tiers"];
    if (!field) return;
    for (const config_text::Field& entry :
         reading_.Entries(field, "the names of tiers and their numbers")) {
      file_.tiers.emplace_back(entry.name);
      NamedLevels levels;
      if (entry->kind == config_text::YamlKind::kScalar) {
        levels.all = ReadLimitText(reading_, entry, Level::kTier);
      } else if (entry->kind != config_text::YamlKind::kNull) {  // A tier may be just a name.
        const config_text::Mapping mapping(reading_, entry, TierFields());
        if (mapping.ok()) levels = ReadNamedLevels(mapping, Level::kTier);
      }
      defaults_.levels.tiers.emplace_back(entry.name, std::move(levels));
    }
  }

  void ReadRules(std::string_view name) {
    const config_text::Field field = mapping_[name];
    if (!field) return;
    if (field->kind != config_text::YamlKind::kSequence) {
      reading_.AddError(field,
                        "expected a list of rules, found " + config_text::Found(*field.node));
      return;
    }
    rules_.reserve(rules_.size() + field->children.size());
    for (const config_text::Field& item : reading_.Items(field)) {
      if (reading_.has_max_errors()) return;
      rules_.push_back(ReadOneRule(reading_, item, defaults_));
    }
  }

  void ReadList(std::string_view name, std::string_view other, std::vector<Pattern>& list) {
    const config_text::Field field = mapping_.Either(name, other);
    if (!field) return;
    const auto items = reading_.Items(field);
    list.reserve(items.size());
    for (const config_text::Field& item : items) {
      if (auto pattern = ReadListEntry(reading_, item)) list.push_back(*std::move(pattern));
    }
  }

  void AddKey(const config_text::Field& key, const config_text::Field& tier) {
    auto pattern = ReadValue(reading_, key);
    const auto name = reading_.Text(tier, "the name of a tier");
    if (name) tier_names_.push_back(tier);
    if (pattern && name) file_.keys.push_back({*std::move(pattern), std::string(*name)});
  }

  void ReadKeys() {
    const config_text::Field field = mapping_["keys"];
    if (!field) return;
    if (field->kind == config_text::YamlKind::kMapping) {
      for (const config_text::Field& entry : reading_.Entries(field, "keys")) {
        const config_text::YamlNode key{
            .kind = config_text::YamlKind::kScalar, .position = entry.key, .text = entry.name};
        config_text::Field as_field = entry;
        as_field.node = &key;
        AddKey(as_field, entry);
      }
      return;
    }
    for (const config_text::Field& item : reading_.Items(field)) {
      const config_text::Mapping mapping(reading_, item, KeyFields());
      if (!mapping.ok()) continue;
      const config_text::Field key = mapping["key"];
      const config_text::Field tier = mapping["tier"];
      if (key && tier) {
        AddKey(key, tier);
      } else {
        reading_.AddError(item, "needs a `key`, which may be a pattern, and a `tier`");
      }
    }
  }

  void ReadKnownKeys() {
    const config_text::Field field = mapping_["known_keys"];
    if (!field) return;
    for (const config_text::Field& item : reading_.Items(field)) {
      if (auto pattern = ReadValue(reading_, item)) {
        file_.known_keys.push_back(*std::move(pattern));
      }
    }
    if (field->kind == config_text::YamlKind::kSequence && field->children.empty()) {
      reading_.AddError(field, "an empty list would make every key unknown; leave it out instead");
    }
  }

  void ReadEndpoints() {
    const config_text::Field field = mapping_["endpoints"];
    if (!field) return;
    std::unordered_set<std::string_view> seen;
    for (const config_text::Field& item : reading_.Items(field)) {
      const auto text = reading_.Text(item, "a template such as /v1/orders/{id}");
      if (!text) continue;
      if (const auto problem = TemplateProblem(*text)) {
        reading_.AddError(item, "not a template: " + *problem);
      } else if (!seen.insert(*text).second) {
        reading_.AddError(item, config_text::Shown(*text) + " stands here twice");
      } else {
        file_.endpoints.emplace_back(*text);
      }
    }
  }

  void CheckTiers() {
    if (const config_text::Field field = mapping_["default_tier"]) {
      file_.default_tier = reading_.Text(field, "the name of a tier").value_or("");
      if (!file_.default_tier.empty()) tier_names_.push_back(field);
    }
    // Without a list of tiers, any name is one.
    if (!mapping_["tiers"]) return;
    for (const ReadRule& rule : rules_) {
      tier_names_.insert(tier_names_.end(), rule.tier_names.begin(), rule.tier_names.end());
    }
    const std::vector<std::string_view> names(file_.tiers.begin(), file_.tiers.end());
    const std::unordered_set<std::string_view> known(names.begin(), names.end());
    for (const config_text::Field& field : tier_names_) {
      if (known.contains(field->text)) continue;
      const std::string suggestion = config_text::DidYouMean(field->text, names);
      reading_.AddError(field,
                        "unknown tier " + config_text::Shown(field->text) +
                            (suggestion.empty() ? "; `tiers` does not name it" : suggestion));
    }
  }

  // Without a price every call of such a limit would be refused.
  void CheckPrices() {
    if (!file_.models.empty()) return;
    for (const ReadRule& read : rules_) {
      const LimitVariants& variants = read.rule.variants;
      const Limits* limits = &variants.usual;
      if (limits->empty() && !variants.by_tier.empty()) limits = &variants.by_tier.begin()->second;
      for (const NamedLimit& limit : *limits) {
        if (!CountsMoney(limit)) continue;
        reading_.AddError(read.field, "counts money, but the file has no `models` with prices");
        return;
      }
    }
  }

  void WarnOfDenyingAll() {
    const config_text::Field field = mapping_.Either("deny", "blacklist");
    if (!field) return;
    for (const Pattern& pattern : file_.deny) {
      const auto network = pattern.kind == PatternKind::kCidr ? ParseNetwork(pattern.text)
                                                              : std::optional<Network>();
      const bool all_addresses = network && network->prefix == (network->v4 ? 96 : 0);
      if (!all_addresses && !IsEverything(pattern)) continue;
      reading_.AddWarning(field, config_text::Shown(pattern.text) + " denies every call that has " +
                                     (all_addresses ? "such an address" : "an API key"));
    }
  }

  // Numbers for limits that no rule has.
  void WarnOfUnusedNames() {
    std::unordered_set<std::string_view> names;
    const auto add = [&](const Limits& limits) {
      for (const NamedLimit& limit : limits) names.insert(limit.name);
    };
    for (const ReadRule& read : rules_) {
      add(read.rule.variants.usual);
      for (const auto& [tier, limits] : read.rule.variants.by_tier) add(limits);
    }
    const auto warn = [&](const NamedLevels& levels) {
      for (const auto& [field, level] : levels.by_name) {
        if (names.contains(field.name)) continue;
        reading_.AddWarning(field, "no rule has a limit of this name");
      }
    };
    warn(defaults_.levels.defaults);
    for (const auto& [tier, levels] : defaults_.levels.tiers) warn(levels);
  }

  void TakeRules() {
    file_.rules.reserve(rules_.size());
    for (ReadRule* rule : InOrder(rules_)) file_.rules.push_back(std::move(rule->rule));
  }

  config_text::Reading& reading_;
  config_text::Mapping mapping_;
  RuleDefaults defaults_;
  RuleFile file_;
  std::vector<ReadRule> rules_;
  std::vector<config_text::Field> tier_names_;
};

ReadResult Refused(std::string name, config_text::Position position, std::string message) {
  ReadResult result;
  result.errors.push_back({std::move(name), position, {}, std::move(message)});
  return result;
}

}  // namespace

ReadResult Read(std::string name, std::string_view yaml) {
  if (yaml.size() > kMaxFileBytes) {
    return Refused(std::move(name), {},
                   "is larger than the " + std::to_string(kMaxFileBytes) + " bytes that are read");
  }
  const auto parsed = config_text::YamlTree::Parse(yaml);
  if (const auto* error = std::get_if<config_text::YamlError>(&parsed)) {
    return Refused(std::move(name), error->position, error->message);
  }
  const config_text::YamlNode* root = std::get<config_text::YamlTree>(parsed).root();
  const bool says_nothing =
      root == nullptr || root->kind == config_text::YamlKind::kNull ||
      (root->kind == config_text::YamlKind::kMapping && root->children.empty());
  if (says_nothing) {
    return Refused(std::move(name), {}, "is empty; expected `rules`");
  }
  config_text::Reading reading(std::move(name));
  RuleFile file =
      FileReader(reading,
                 config_text::Field{.node = root, .parent = reading.root(), .key = root->position})
          .Read();
  ReadResult result;
  result.errors = reading.TakeErrors();
  result.warnings = reading.TakeWarnings();
  if (result.errors.empty()) result.file = std::move(file);
  return result;
}

ReadResult ReadFile(const std::string& path) {
  const auto text = sluice::ReadFile(path, kMaxFileBytes);
  if (!text) return Refused(path, {}, text.error().message);
  return Read(path, *text);
}

}  // namespace sluice::rules
