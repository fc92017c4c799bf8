// Any bytes are read as a rule file: it is refused with words, or what comes out keeps the promises
// of the model, compiles, and answers calls.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "rules/reader.h"
#include "rules/rule_set.h"

namespace {

namespace rules = sluice::rules;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool IsOneLine(std::string_view text) {
  return !text.empty() && text.find('\n') == std::string_view::npos;
}

void CheckMistakes(const std::vector<rules::Mistake>& mistakes) {
  const rules::Mistake* last = nullptr;
  for (const rules::Mistake& mistake : mistakes) {
    Require(IsOneLine(rules::Describe(mistake)), "a message is not one line");
    Require(!mistake.message.empty(), "a mistake without words");
    if (last != nullptr) {
      const bool in_order = last->position.line < mistake.position.line ||
                            (last->position.line == mistake.position.line &&
                             last->position.column <= mistake.position.column);
      Require(in_order, "mistakes are not in the order of the file");
    }
    last = &mistake;
  }
}

void CheckNames(const rules::Limits& limits, const rules::Limits& others) {
  Require(limits.size() == others.size(), "variants differ in how many limits they have");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    Require(!limits[i].name.empty() && limits[i].name == others[i].name,
            "variants differ in the names of their limits");
    Require(limits[i].limit.cap() >= 1, "a limit that holds nothing");
  }
}

void CheckVariants(const rules::Variants& variants) {
  Require(!variants.usual.empty() || !variants.by_tier.empty(), "a rule without limits");
  const rules::Limits& first =
      variants.usual.empty() ? variants.by_tier.begin()->second : variants.usual;
  CheckNames(first, first);
  for (const auto& [tier, limits] : variants.by_tier) CheckNames(limits, first);
}

void CheckFile(const rules::RuleFile& file) {
  for (const rules::Rule& rule : file.rules) {
    Require(!rule.id.empty(), "a rule without an id");
    CheckVariants(rule.variants);
    for (const rules::Override& other : rule.overrides) CheckVariants(other.variants);
    for (const rules::Condition& condition : rule.match) {
      Require((condition.presence == rules::Presence::kAny) != condition.any_of.empty(),
              "a condition that says nothing, or two things");
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  rules::ReadResult result = rules::Read("rules.yaml", text);
  CheckMistakes(result.mistakes);
  CheckMistakes(result.warnings);
  Require(result.file.has_value() == result.mistakes.empty(), "refused without a word");
  if (!result.file) return 0;
  CheckFile(*result.file);
  const auto compiled = rules::RuleSet::Compile(*std::move(result.file));
  const rules::Attribute attributes[] = {{"api_key", "sk_prod_1"},
                                         {"ip", "10.0.0.1"},
                                         {"endpoint", "/v1/orders/7?x=1"},
                                         {"method", "GET"},
                                         {"user", "alice"}};
  rules::Match match;
  compiled->Find(attributes, 1, match);
  compiled->Find({}, 0, match);
  return 0;
}
