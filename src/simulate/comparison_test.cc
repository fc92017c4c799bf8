#include "simulate/comparison.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/reader.h"

namespace sluice::simulate {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::Pair;

constexpr WallTime kTraceStart{seconds(1'800'000'000)};

std::unique_ptr<Simulation> SimulationOf(const std::string& yaml) {
  rules::ReadResult read = rules::Read("rules.yaml", yaml);
  auto simulation = Simulation::Create(match::RuleSet::Compile(std::move(*read.file)));
  return std::move(*simulation);
}

TEST(ComparisonTest, ChangesBetweenTwoFilesAreReportedBothWays) {
  const auto before = SimulationOf(
      "rules:\n  - {id: a, per: [user], algorithm: fixed_window, limit: 2, window: 10}\n");
  const auto after = SimulationOf(
      "rules:\n  - {id: a, per: [user], algorithm: fixed_window, limit: 1, window: 1}\n");
  Comparison comparison(2);
  for (int second = 0; second < 4; ++second) {
    for (int i = 0; i < 2; ++i) {
      const TraceRow row{
          .time = kTraceStart + seconds(second), .duration = {}, .attributes = {{"user", "u"}}};
      comparison.Add(static_cast<std::size_t>(10 * second + i), row,
                     before->Evaluate(row, row.time), after->Evaluate(row, row.time));
    }
  }
  // Before: both calls of the first second. After: one call of each second.
  EXPECT_EQ(comparison.newly_denied().calls, 1U);
  EXPECT_EQ(comparison.newly_allowed().calls, 3U);
  ASSERT_EQ(comparison.newly_allowed().examples.size(), 2U);
  EXPECT_EQ(comparison.newly_allowed().examples[0].line, 10U);
  EXPECT_EQ(comparison.newly_allowed().examples[0].denied_by, "a (requests)");
  EXPECT_THAT(comparison.newly_allowed().examples[0].attributes, ElementsAre(Pair("user", "u")));
  EXPECT_EQ(comparison.newly_denied().examples.at(0).line, 1U);
}

}  // namespace
}  // namespace sluice::simulate
