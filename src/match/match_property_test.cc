// `RuleSet::Find`, which goes through an index, against `Explain`, which looks at one rule after
// the other.

#include <algorithm>
#include <array>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "match/explain.h"
#include "match/plain_call.h"
#include "match/rule_set.h"
#include "match/testing/random_rules.h"

namespace sluice::match {
namespace {

using testing::AsAttributes;
using testing::RandomRules;

// What is said of a call, as text, so that a difference is shown.
class Said {
 public:
  void Limit(const rules::Rule& rule, const rules::NamedLimit* limit, const Key& key,
             std::int64_t cost, Cohort cohort) {
    out_ << NameOf(cohort) << ' ' << rule.id << ' ' << static_cast<const void*>(limit) << ' '
         << key.scope << " {" << key.tag << "} " << key.rest << " costs " << cost << '\n';
  }
  void Refused(const rules::Rule& rule, const rules::NamedLimit* limit) {
    out_ << "refused by " << rule.id << ' ' << static_cast<const void*>(limit) << '\n';
  }
  void Lacking(const rules::Rule& rule) { out_ << rule.id << " lacks an attribute\n"; }
  void Rest(Listed listed, bool met, std::string_view tier) {
    out_ << "listed " << static_cast<int>(listed) << " met " << met << " tier " << tier << '\n';
  }
  [[nodiscard]] std::string text() const { return out_.str(); }

 private:
  std::ostringstream out_;
};

std::string Slow(const Explanation& explanation) {
  Said limits;
  Said lacking;
  bool met = false;
  for (const ExplainedRule& each : explanation.rules) {
    const bool lacks = each.outcome == RuleOutcome::kLacksAttribute || each.is_missing;
    if (lacks) lacking.Lacking(*each.rule);
    if (each.outcome != RuleOutcome::kMatched) continue;
    met = true;
    // A limit in shadow beside enforced ones is left out by itself.
    const auto refused =
        std::find_if(each.limits.begin(), each.limits.end(), [&](const auto& limit) {
          return !limit.refusal.empty() && (each.rule->shadow || !limit.limit->shadow);
        });
    if (refused == each.limits.end()) {
      for (const ExplainedLimit& limit : each.limits) {
        if (!limit.refusal.empty()) continue;
        limits.Limit(*each.rule, limit.limit, {limit.scope, limit.tag, limit.rest}, limit.cost,
                     each.cohort);
      }
    } else if (!each.rule->shadow) {
      EXPECT_TRUE(explanation.refused);
      limits = Said();
      limits.Refused(*each.rule, refused->limit);
      break;
    }
  }
  Said rest;
  rest.Rest(explanation.listed, met, explanation.tier);
  return limits.text() + lacking.text() + rest.text();
}

std::string Fast(const Match& match) {
  Said said;
  for (const MatchedLimit& met : match.limits())
    said.Limit(*met.rule, met.limit, met.key, met.cost, met.cohort);
  if (match.refusal() != nullptr) {
    EXPECT_TRUE(match.limits().empty());
    said.Refused(*match.refusal()->rule, match.refusal()->limit);
  }
  for (const rules::Rule* rule : match.lacking()) said.Lacking(*rule);
  said.Rest(match.listed(), match.matched(), match.tier());
  return said.text();
}

void ExpectOnTheList(const Match& match, const Explanation& explanation, Attributes attributes) {
  ASSERT_EQ(match.list_entry() == nullptr, explanation.list_entry == nullptr);
  if (match.list_entry() == nullptr) return;
  const PlainCall call = PlainCallOf(attributes);
  const bool network = match.list_entry()->kind == rules::PatternKind::kCidr;
  EXPECT_TRUE(PlainMatches(*match.list_entry(), network ? call.Get("ip") : call.raw_key));
}

std::string Shown(const RandomRules::Values& values) {
  std::string text;
  for (const auto& [name, value] : values) text.append(name).append("=").append(value).append(" ");
  return text;
}

struct Seen {
  int limits = 0;
  int refused = 0;
  int listed = 0;
  int lacking = 0;
  int skipped = 0;
  std::array<int, 11> by_outcome{};
  std::array<int, 3> by_cohort{};
};

void Judge(RandomRules& random, std::size_t max_rules, int files, int calls, Seen& seen) {
  Match match;  // One for all, as it is meant to be used.
  for (int f = 0; f < files; ++f) {
    const auto rules = RuleSet::Compile(random.File(max_rules));
    for (int c = 0; c < calls; ++c) {
      const auto values = random.Call(rules->file());
      const std::vector<Attribute> attributes = AsAttributes(values);
      const std::int64_t cost = random.OwnCost();
      const WallTime now = random.Time();
      rules->Find(attributes, cost, now, match);
      const Explanation explanation = Explain(*rules, attributes, cost, now);
      ASSERT_EQ(Fast(match), Slow(explanation)) << Shown(values);
      ExpectOnTheList(match, explanation, attributes);
      seen.limits += static_cast<int>(match.limits().size());
      seen.refused += match.refusal() != nullptr ? 1 : 0;
      seen.listed += match.listed() != Listed::kNo ? 1 : 0;
      seen.lacking += match.lacking().empty() ? 0 : 1;
      for (const ExplainedRule& rule : explanation.rules) {
        seen.by_outcome[static_cast<std::size_t>(rule.outcome)] += 1;
        seen.by_cohort[static_cast<std::size_t>(rule.cohort)] += 1;
        seen.skipped += static_cast<int>(rule.skipped.size());
      }
    }
  }
}

TEST(MatchProperty, TheIndexFindsWhatLookingAtEachRuleFinds) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  RandomRules random(seed);
  Seen seen;
  Judge(random, 12, 300, 60, seen);
  Judge(random, 40, 100, 60, seen);
  Judge(random, 200, 20, 60, seen);
  // Else it would prove little.
  EXPECT_GT(seen.limits, 1000);
  EXPECT_GT(seen.refused, 100);
  EXPECT_GT(seen.listed, 100);
  EXPECT_GT(seen.lacking, 100);
  EXPECT_GT(seen.skipped, 100);
  EXPECT_THAT(seen.by_outcome, ::testing::Each(::testing::Gt(100)));
  EXPECT_THAT(seen.by_cohort, ::testing::Each(::testing::Gt(100)));
}

}  // namespace
}  // namespace sluice::match
