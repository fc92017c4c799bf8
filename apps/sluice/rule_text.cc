#include "rule_text.h"

#include <algorithm>
#include <utility>

#include "base/duration.h"
#include "config_text/yaml_writer.h"

namespace sluice::app {
namespace {

using config_text::QuotedYaml;

constexpr std::size_t kMostIdBytes = 200;

std::string AsGlob(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '?' || c == '\\') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

std::string TextOf(const ConditionText& condition) {
  switch (condition.form) {
    case ConditionForm::kPresent:
      return "{ present: true }";
    case ConditionForm::kAbsent:
      return "{ absent: true }";
    case ConditionForm::kExact:
    case ConditionForm::kGlob:
      break;
  }
  const bool is_glob = condition.form == ConditionForm::kGlob;
  std::string list;
  for (const std::string_view value : condition.values) {
    list += (list.empty() ? "" : ", ") + QuotedYaml(is_glob ? AsGlob(value) : std::string(value));
  }
  return std::string("{ ") + (is_glob ? "glob" : "exact") + ": [" + list + "] }";
}

std::string NumbersOf(const envoy::Node& node) {
  const rules::NamedLimit& limit = node.limit();
  if (limit.reject_all) return "    reject_all: true\n";
  const std::string requests = std::to_string(node.requests_per_unit);
  const std::string window = DurationName(limit.window);
  std::string text = std::string("    algorithm: ") + AlgorithmName(limit.limit.algorithm()) + "\n";
  const bool has_burst = limit.limit.cap() != node.requests_per_unit;
  if (!has_burst) return text + "    limit: " + requests + "\n    window: " + window + "\n";
  return text + "    capacity: " + std::to_string(limit.limit.cap()) +
         "\n    refill_rate: " + requests + " per " + window + "\n";
}

std::string_view NameOf(rules::OnStoreFailure mode) {
  switch (mode) {
    case rules::OnStoreFailure::kClosed:
      return "closed";
    case rules::OnStoreFailure::kLocal:
      return "local";
    case rules::OnStoreFailure::kOpen:
      break;
  }
  return "open";
}

}  // namespace

bool CanBeCondition(std::string_view key) {
  return key != "tier" && key != "methods" && key != "present" && key != "absent" && key != "<<" &&
         key != "global" && !key.ends_with("_pattern") && !key.ends_with("_regex");
}

std::string RuleTexts::UniqueId(std::string id) {
  if (id.size() > kMostIdBytes) id.resize(kMostIdBytes);
  // Not in the middle of a character.
  while (!id.empty() && (static_cast<unsigned char>(id.back()) & 0xC0) == 0x80) id.pop_back();
  std::string unique = id;
  for (int i = 2; !ids_.insert(unique).second; ++i) unique = id + "#" + std::to_string(i);
  return unique;
}

void RuleTexts::Add(const envoy::Descriptor& of, std::string id,
                    const std::vector<ConditionText>& conditions, const std::string& fields) {
  OneRule& rule = rules_.emplace_back();
  rule.id = UniqueId(std::move(id));
  rule.file = of.file;
  rule.position = of.position;
  rule.text = "  - id: " + QuotedYaml(rule.id) + "\n    match:\n";
  for (const ConditionText& condition : conditions) {
    attributes_.emplace(condition.attribute);
    rule.text += "      " + QuotedYaml(condition.attribute) + ": " + TextOf(condition) + "\n";
  }
  rule.text += fields + "    final: true\n";
}

void RuleTexts::AddLimit(const envoy::Descriptor& of,
                         const std::vector<ConditionText>& conditions) {
  const envoy::Node& node = *of.node;
  std::string per;
  for (const std::string& key : *node.rule.per) {
    attributes_.insert(key);
    per += (per.empty() ? "" : ", ") + QuotedYaml(key);
  }
  std::string fields = "    per: [" + per + "]\n" + NumbersOf(node);
  if (node.rule.shadow) fields += "    shadow: true\n";
  if (node.rule.consistency == rules::Consistency::kLeased) fields += "    consistency: leased\n";
  if (node.rule.on_store_failure != rules::OnStoreFailure::kOpen) {
    fields += "    on_store_failure: " + std::string(NameOf(node.rule.on_store_failure)) + "\n";
  }
  if (node.rule.when_full != rules::WhenFull::kShared) {
    const bool open = node.rule.when_full == rules::WhenFull::kOpen;
    fields += std::string("    when_full: ") + (open ? "open" : "closed") + "\n";
  }
  Add(of, node.rule.id, conditions, fields);
}

void RuleTexts::AddPass(const envoy::Descriptor& because_of,
                        const std::vector<ConditionText>& conditions) {
  Add(because_of, because_of.node->rule.id + " (let pass)", conditions,
      "    per: []\n    limit: 1 per second\n    shadow: true\n    headers: off\n");
}

std::string RuleTexts::Join() {
  if (rules_.empty()) return "rules: []\n";
  // Declared, because any name may be a descriptor's key.
  std::string names;
  for (const std::string& name : attributes_)
    names += (names.empty() ? "" : ", ") + QuotedYaml(name);
  std::string text = "attributes: [" + names + "]\nrules:\n";
  int line = 3;
  for (OneRule& rule : rules_) {
    rule.first_line = line;
    line += static_cast<int>(std::count(rule.text.begin(), rule.text.end(), '\n'));
    rule.last_line = line - 1;
    text += rule.text;
  }
  return text;
}

bool RuleTexts::DropThoseWith(const std::vector<config_text::Diagnostic>& errors,
                              std::vector<config_text::Diagnostic>& remarks) {
  const std::size_t before = rules_.size();
  std::erase_if(rules_, [&](const OneRule& rule) {
    const auto about =
        std::find_if(errors.begin(), errors.end(), [&](const config_text::Diagnostic& m) {
          return m.position.line >= rule.first_line && m.position.line <= rule.last_line;
        });
    if (about == errors.end()) return false;
    remarks.push_back({.file = rule.file,
                       .position = rule.position,
                       .field = rule.id,
                       .message = "left out; as a rule it " + about->message});
    return true;
  });
  return rules_.size() < before;
}

}  // namespace sluice::app
