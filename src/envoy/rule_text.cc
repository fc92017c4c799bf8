#include "envoy/rule_text.h"

#include <algorithm>
#include <utility>

#include "rules/number.h"

namespace sluice::envoy {
namespace {

constexpr std::size_t kMostIdBytes = 200;

std::string Quoted(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      if (c == '"' || c == '\\') out.push_back('\\');
      out.push_back(c);
    }
  }
  return out + '"';
}

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
    list += (list.empty() ? "" : ", ") + Quoted(is_glob ? AsGlob(value) : std::string(value));
  }
  return std::string("{ ") + (is_glob ? "glob" : "exact") + ": [" + list + "] }";
}

std::string NumbersOf(const Node& node) {
  const rules::NamedLimit& limit = node.limit();
  if (limit.reject_all) return "    reject_all: true\n";
  const std::string requests = std::to_string(node.requests_per_unit);
  const std::string window = rules::DurationName(limit.window);
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

void RuleTexts::Add(const Descriptor& of, std::string id,
                    const std::vector<ConditionText>& conditions, const std::string& fields) {
  OneRule& rule = rules_.emplace_back();
  rule.id = UniqueId(std::move(id));
  rule.file = of.file;
  rule.position = of.position;
  rule.text = "  - id: " + Quoted(rule.id) + "\n    match:\n";
  for (const ConditionText& condition : conditions) {
    rule.text += "      " + Quoted(condition.attribute) + ": " + TextOf(condition) + "\n";
  }
  rule.text += fields + "    final: true\n";
}

void RuleTexts::AddLimit(const Descriptor& of, const std::vector<ConditionText>& conditions) {
  const Node& node = *of.node;
  std::string per;
  for (const std::string& key : *node.rule.per) per += (per.empty() ? "" : ", ") + Quoted(key);
  std::string fields = "    per: [" + per + "]\n" + NumbersOf(node);
  if (node.rule.shadow) fields += "    shadow: true\n";
  if (node.rule.consistency == rules::Consistency::kLeased) fields += "    consistency: leased\n";
  if (node.rule.on_store_failure != rules::OnStoreFailure::kOpen) {
    fields += "    on_store_failure: " + std::string(NameOf(node.rule.on_store_failure)) + "\n";
  }
  Add(of, node.rule.id, conditions, fields);
}

void RuleTexts::AddPass(const Descriptor& because_of,
                        const std::vector<ConditionText>& conditions) {
  Add(because_of, because_of.node->rule.id + " (let pass)", conditions,
      "    per: []\n    limit: 1 per second\n    shadow: true\n    headers: off\n");
}

std::string RuleTexts::Join() {
  std::string text = rules_.empty() ? "rules: []\n" : "rules:\n";
  int line = 2;
  for (OneRule& rule : rules_) {
    rule.first_line = line;
    line += static_cast<int>(std::count(rule.text.begin(), rule.text.end(), '\n'));
    rule.last_line = line - 1;
    text += rule.text;
  }
  return text;
}

bool RuleTexts::DropThoseWith(const std::vector<rules::Mistake>& mistakes,
                              std::vector<rules::Mistake>& remarks) {
  const std::size_t before = rules_.size();
  std::erase_if(rules_, [&](const OneRule& rule) {
    const auto about = std::find_if(mistakes.begin(), mistakes.end(), [&](const rules::Mistake& m) {
      return m.position.line >= rule.first_line && m.position.line <= rule.last_line;
    });
    if (about == mistakes.end()) return false;
    remarks.push_back({.file = rule.file,
                       .position = rule.position,
                       .field = rule.id,
                       .message = "left out; as a rule it " + about->message});
    return true;
  });
  return rules_.size() < before;
}

}  // namespace sluice::envoy
