#include "simulation_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::app {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(DeniedMostTest, TheMostComeFirstAndEqualOnesByName) {
  const DeniedKeys keys{{"a", 1}, {"b", 5}, {"d", 2}, {"c", 2}};
  EXPECT_THAT(DeniedMost(keys, 3), ElementsAre(Pair("b", 5), Pair("c", 2), Pair("d", 2)));
  EXPECT_THAT(DeniedMost(keys, 9).size(), 4U);
}

}  // namespace
}  // namespace sluice::app
