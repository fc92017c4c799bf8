#include "penalty/loop_strikes.h"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "limiter/limiter.h"
#include "match/entry_text.h"
#include "match/load_rules.h"
#include "store/testing/model_store.h"

namespace sluice::penalty {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr WallTime kStrikeStart{seconds(1'900'000'000)};
constexpr std::string_view kPenalty =
    "penalty: { after: { denials: 20, ignored_backoff: 5, within: 1m }, steps: [1m]";

class LoopStrikesTest : public ::testing::Test {
 protected:
  void Load(const std::string& yaml) {
    const LoadReport report = LoadRules(rules_, "rules.yaml", yaml, kStrikeStart);
    ASSERT_EQ(report.outcome, LoadOutcome::kActivated) << ::testing::PrintToString(report.errors);
  }
  void LoadRule(const std::string& fields, const std::string& more = "", bool has_known = false) {
    Load("rules:\n  - { id: r, algorithm: fixed_window, limit: 1, window: 1d, " + fields + " " +
         std::string(kPenalty) + more + " } }\n" + (has_known ? "known_keys: [\"sk_*\"]\n" : ""));
  }
  bool Call(const std::vector<Attribute>& attributes, WallTime now = kStrikeStart) {
    check_.Clear();
    for (const Attribute& one : attributes) check_.Add(one.name, one.value);
    limiter_.Decide(check_, now);
    strikes_.Count(check_, now);
    return check_.allowed;
  }
  /// "api_key=a 3", for each caller.
  std::vector<std::string> Taken() {
    std::vector<std::string> texts;
    const auto buffer = strikes_.Exchange(std::make_unique<StrikeBuffer>());
    for (const Strike& strike : buffer->strikes()) {
      texts.push_back(match::MatchText(strike.offender) + " " +
                      (strike.offender.rule.empty() ? "" : strike.offender.rule + " ") +
                      (strike.offender.penalty->without_key ? "no key " : "") +
                      std::to_string(strike.denials) + "/" +
                      std::to_string(strike.ignored_backoff));
    }
    return texts;
  }

  KeyHasher hasher_;
  LoopStrikes strikes_{hasher_};
  store::testing::ModelStore store_;
  Live<match::RuleSet> rules_;
  LiveReader<match::RuleSet> reader_{rules_};
  limiter::Settings settings_;
  limiter::Limiter limiter_{store_, nullptr, reader_, settings_};
  limiter::CheckRequest check_;
};

using Texts = std::vector<std::string>;

TEST_F(LoopStrikesTest, OnlyDenialsByRulesWithAPenaltyCount) {
  Load("rules:\n  - { id: r, per: api_key, limit: 1/d }\n");
  Call({{"api_key", "a"}});
  EXPECT_FALSE(Call({{"api_key", "a"}}));
  EXPECT_FALSE(strikes_.has_strikes());
  LoadRule("per: api_key,");
  EXPECT_TRUE(Call({{"api_key", "b"}}));
  EXPECT_FALSE(strikes_.has_strikes());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Call({{"api_key", "b"}}));
  EXPECT_TRUE(strikes_.has_strikes());
  EXPECT_EQ(Taken(), Texts{"api_key=b r 3/0"});
  EXPECT_FALSE(strikes_.has_strikes());
  EXPECT_EQ(Taken(), Texts{});
}

TEST_F(LoopStrikesTest, AShadowRuleMakesNoStrikes) {
  LoadRule("per: api_key, shadow: true,");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Call({{"api_key", "a"}}));
  EXPECT_EQ(Taken(), Texts{});
}

TEST_F(LoopStrikesTest, TheScopeOfTheRuleIsTheCallerNotWhatItCalls) {
  LoadRule("per: [api_key, endpoint],");
  for (const char* endpoint : {"/a", "/b"}) {
    for (int i = 0; i < 2; ++i) Call({{"api_key", "k"}, {"endpoint", endpoint}});
  }
  EXPECT_EQ(Taken(), (Texts{"api_key=k r 1/0", "api_key=k r 1/0"}));  // The ledger adds them up.
}

TEST_F(LoopStrikesTest, CallersWithoutAKeyAreTheirAddress) {
  LoadRule("", "", true);
  for (int i = 0; i < 2; ++i) Call({{"api_key", "made-up"}, {"ip", "10.0.0.1"}});
  for (int i = 0; i < 2; ++i) Call({{"api_key", "sk_1"}, {"ip", "10.0.0.1"}});
  EXPECT_EQ(Taken(), (Texts{"ip=10.0.0.1 r no key 1/0", "api_key=sk_1 r 1/0"}));
}

TEST_F(LoopStrikesTest, ScopesOfCallersAndNetworks) {
  LoadRule("per: [],", ", scope: caller");
  Call({{"ip", "10.0.0.1"}});
  Call({{"ip", "10.0.0.1"}});
  Call({{"api_key", "k"}, {"ip", "10.0.0.1"}});
  EXPECT_EQ(Taken(), (Texts{"ip=10.0.0.1 no key 1/0", "api_key=k 1/0"}));
  LoadRule("per: [],", ", scope: network");
  Call({{"ip", "10.0.0.1"}});
  Call({{"ip", "2001:db8:1:2::1"}});
  EXPECT_EQ(Taken(), (Texts{"ip=10.0.0.0/24 1/0", "ip=2001:db8:1::/48 1/0"}));
}

TEST_F(LoopStrikesTest, KeysThatAreHashedStayHashed) {
  LoadRule("per: api_key,");
  for (int i = 0; i < 2; ++i) Call({{"api_key", "secret"}, {"api_key_hash", "sha256:1"}});
  EXPECT_EQ(Taken(), Texts{"api_key_hash=sha256:1 r 1/0"});
}

TEST_F(LoopStrikesTest, CallsThatLackTheAttributeAreNobodysStrikes) {
  LoadRule("per: tenant, on_missing: shared,");
  for (int i = 0; i < 3; ++i) Call({{"ip", "10.0.0.1"}});
  EXPECT_EQ(Taken(), Texts{});
}

TEST_F(LoopStrikesTest, CallsBeforeTheTimeOfADenialIgnoreIt) {
  Load("rules:\n  - { id: r, per: api_key, algorithm: fixed_window, limit: 1, window: 10s, " +
       std::string(kPenalty) + " } }\n");
  EXPECT_TRUE(Call({{"api_key", "a"}}));
  EXPECT_FALSE(Call({{"api_key", "a"}}));                                    // The wait is 10 s.
  EXPECT_FALSE(Call({{"api_key", "a"}}, kStrikeStart + milliseconds(500)));  // Sent before it knew.
  EXPECT_FALSE(Call({{"api_key", "a"}}, kStrikeStart + seconds(3)));
  EXPECT_FALSE(Call({{"api_key", "a"}}, kStrikeStart + seconds(9)));
  EXPECT_TRUE(Call({{"api_key", "a"}}, kStrikeStart + seconds(10)));
  EXPECT_FALSE(
      Call({{"api_key", "a"}}, kStrikeStart + seconds(11)));  // It waited: this is a new one.
  EXPECT_EQ(Taken(), Texts{"api_key=a r 5/2"});
}

TEST_F(LoopStrikesTest, AFloodOfDeniedCallersIsBounded) {
  LoadRule("per: api_key,");
  for (int i = 0; i < 2000; ++i) {
    const std::string key = "k" + std::to_string(i);
    Call({{"api_key", key}});
    Call({{"api_key", key}});
  }
  const auto buffer = strikes_.Exchange(std::make_unique<StrikeBuffer>());
  EXPECT_EQ(buffer->strikes().size(), StrikeBuffer::kMaxStrikes);
  EXPECT_EQ(buffer->dropped(), 2000 - StrikeBuffer::kMaxStrikes);
  buffer->Clear();
  EXPECT_EQ(buffer->strikes().size(), 0U);
}

}  // namespace
}  // namespace sluice::penalty
