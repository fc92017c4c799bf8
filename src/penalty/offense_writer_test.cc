#include "penalty/offense_writer.h"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "control/testing/fake_record_service.h"
#include "match/entry_text.h"

namespace sluice::penalty {
namespace {

using control::RecordKind;
using std::chrono::hours;
using std::chrono::minutes;

class OffenseWriterTest : public ::testing::Test {
 protected:
  static Offense OffenseOf(std::string attribute, std::string value) {
    Offense offense;
    Strike& strike = offense.strike;
    strike.offender.match.push_back({.attribute = std::move(attribute), .value = std::move(value)});
    strike.offender.rule = "search";
    strike.offender.penalty.emplace();
    strike.offender.id = match::PenaltyIdOf(strike.offender, "search");
    strike.rule = "search";
    strike.penalty.denials = 20;
    strike.penalty.within = minutes(1);
    strike.penalty.steps = {minutes(1)};
    strike.penalty.forget = hours(1);
    return offense;
  }
  OffenseResult Write(const std::vector<Offense>& offenses) {
    const OffenseResult result = writer_.Write(offenses, clock_.Now(), "1.7");
    entries_.Apply(records_.List(RecordKind::kPenalty, "", 1000, {}), true);
    return result;
  }

  FakeClock clock_{WallTime{std::chrono::seconds(1'900'000'000)}};
  control::testing::FakeRecordService records_{clock_};
  Live<match::EntrySet> live_;
  control::EntryService entries_{live_, {.now = [this] { return clock_.Now(); }}};
  OffenseWriter writer_{records_, entries_, {.random = [] { return std::uint64_t{0}; }}};
};

TEST_F(OffenseWriterTest, AnEntrySaysWhoWhyUntilWhenAndByWhichRules) {
  EXPECT_EQ(Write({OffenseOf("api_key", "k")}).penalized, 1U);
  const auto live = entries_.Find(OffenseOf("api_key", "k").strike.offender.id);
  ASSERT_NE(live, nullptr);
  const match::Entry& entry = live->entry;
  EXPECT_EQ(match::MatchText(entry), "api_key=k");
  EXPECT_EQ(entry.effect, match::EntryEffect::kBlock);
  EXPECT_EQ(entry.status, 429);
  EXPECT_EQ(entry.reason, "20 denials within 1m by rule search");
  EXPECT_EQ(entry.expires_at, clock_.Now() + minutes(1));
  EXPECT_EQ(entry.penalty->rules_version, "1.7");
  EXPECT_EQ(entry.penalty->forgotten_at, clock_.Now() + minutes(61));
}

TEST_F(OffenseWriterTest, AFactorChangesLimitsInsteadOfBlocking) {
  Offense offense = OffenseOf("api_key", "k");
  offense.strike.penalty.factor = Decimal{1, 1};
  offense.strike.penalty.shadow = true;
  const OffenseResult result = Write({offense});
  EXPECT_EQ(result.shadow, 1U);
  const auto live = entries_.Find(offense.strike.offender.id);
  EXPECT_EQ(match::EffectText(live->entry), "multiply 0.1");
  EXPECT_TRUE(live->entry.penalty->shadow);
}

TEST_F(OffenseWriterTest, OneConflictDoesNotVoidTheOthers) {
  std::vector<Offense> offenses;
  for (int i = 0; i < 5; ++i) offenses.push_back(OffenseOf("api_key", "k" + std::to_string(i)));
  ASSERT_EQ(Write({offenses[2]}).penalized, 1U);
  EXPECT_EQ(Write(offenses).penalized, 4U);
}

TEST_F(OffenseWriterTest, AFailureOfTheStoreIsReported) {
  records_.SetFailure(Error{ErrorCode::kStoreUnavailable, "gone"});
  const OffenseResult result = Write({OffenseOf("api_key", "k")});
  EXPECT_EQ(result.failed, 1U);
  EXPECT_EQ(result.error, "gone");
}

TEST_F(OffenseWriterTest, SetsOfAttributesAreBounded) {
  std::size_t refused = 0;
  for (int i = 0; i < 20; ++i) {
    refused += Write({OffenseOf("attribute" + std::to_string(i), "v")}).refused;
  }
  EXPECT_EQ(refused, 4U);
  EXPECT_EQ(Write({OffenseOf("attribute1", "w")}).penalized, 1U);
}

TEST_F(OffenseWriterTest, AKeyThatCannotBeStoredDoesNotSpoilTheOthers) {
  std::string quotes(1024, '"');
  Offense large = OffenseOf("api_key", quotes);
  for (int i = 0; i < 7; ++i) {
    large.strike.offender.match.push_back({.attribute = "b" + std::to_string(i), .value = quotes});
  }
  const OffenseResult result =
      Write({OffenseOf("api_key", "a\x01"), OffenseOf("api_key", "a\xFF"), large,
             OffenseOf("api_key", "a*?\\\"<b>"), OffenseOf("api_key", "good")});
  EXPECT_EQ(result.refused, 3U);
  EXPECT_EQ(result.penalized, 2U);
  EXPECT_EQ(result.failed, 0U);
}

TEST_F(OffenseWriterTest, ManyOffensesAreWrittenInPortions) {
  std::vector<Offense> offenses;
  for (int i = 0; i < 450; ++i) offenses.push_back(OffenseOf("api_key", "k" + std::to_string(i)));
  EXPECT_EQ(Write(offenses).penalized, 450U);
  EXPECT_EQ(records_.Audits().size(), 3U);
}

}  // namespace
}  // namespace sluice::penalty
