// Any bytes are read as a rule file: it is refused with words, or what comes out keeps the promises
// of the model, compiles, and answers calls.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "match/rule_set.h"
#include "rules/reader.h"
#include "rules/rollout_text.h"

namespace {

namespace config_text = sluice::config_text;
namespace match = sluice::match;
namespace rules = sluice::rules;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

bool IsOneLine(std::string_view text) {
  return !text.empty() && text.find('\n') == std::string_view::npos;
}

void CheckErrors(const std::vector<config_text::Diagnostic>& errors) {
  const config_text::Diagnostic* last = nullptr;
  for (const config_text::Diagnostic& error : errors) {
    Require(IsOneLine(config_text::Describe(error)), "a message is not one line");
    Require(!error.message.empty(), "an error without words");
    if (last != nullptr) {
      const bool in_order = last->position.line < error.position.line ||
                            (last->position.line == error.position.line &&
                             last->position.column <= error.position.column);
      Require(in_order, "errors are not in the order of the file");
    }
    last = &error;
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

void CheckVariants(const rules::LimitVariants& variants) {
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
    const bool has_from = rule.rollout && rule.rollout->has_from;
    if (has_from) CheckVariants(rule.rollout->from);
    for (const rules::Override& other : rule.overrides) {
      CheckVariants(other.variants);
      if (has_from) CheckVariants(other.from);
    }
    for (const rules::Condition& condition : rule.match) {
      Require((condition.presence == rules::Presence::kAny) != condition.any_of.empty(),
              "a condition that says nothing, or two things");
    }
  }
}

// The numbers of a file fit the file itself: `from` that is filled in is read without an error.
void CheckFilledIn(const rules::RuleFile& file, std::string_view text) {
  const sluice::WallTime now{std::chrono::seconds(1'794'744'000)};
  rules::RuleFile previous = file;
  for (rules::Rule& rule : previous.rules) rule.rollout.reset();
  const rules::FilledText filled = rules::FillInFrom(previous, text, now);
  Require(rules::Read("rules.yaml", filled.yaml).file.has_value(), "`from` was filled in wrongly");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  rules::ReadResult result = rules::Read("rules.yaml", text);
  CheckErrors(result.errors);
  CheckErrors(result.warnings);
  Require(result.file.has_value() == result.errors.empty(), "refused without a word");
  if (!result.file) return 0;
  CheckFile(*result.file);
  CheckFilledIn(*result.file, text);
  const auto compiled = match::RuleSet::Compile(*std::move(result.file));
  const sluice::Attribute attributes[] = {{"api_key", "sk_prod_1"},
                                          {"ip", "10.0.0.1"},
                                          {"endpoint", "/v1/orders/7?x=1"},
                                          {"method", "GET"},
                                          {"user", "alice"}};
  match::Match matched;
  const sluice::WallTime now{std::chrono::seconds(1'794'744'000)};
  compiled->Find(attributes, 1, now, matched);
  compiled->Find({}, 0, now, matched);
  return 0;
}
