// A Redis store gives the same answers on a cluster and behind sentinels. One test for each of
// them, since to start all those servers takes longer than the test.

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "redis/testing/redis_cluster.h"
#include "redis/testing/sentinel_set.h"
#include "store/redis/testing/redis_driver.h"
#include "store/testing/conformance.h"
#include "store/testing/random_run.h"

namespace sluice::store::testing {
namespace {

using algo::testing::RandomChoices;
using algo::testing::TestSeeds;

void ExpectConformance(Driver& driver) {
  for (const ConformanceCase& each : ConformanceCases()) {
    SCOPED_TRACE(each.name);
    each.run(driver);
  }
}

void ExpectAgreementWithTheModel(Driver& driver) {
  constexpr std::size_t kSequences = 150;
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const auto difference =
        RunAgainstModel(driver, choices, {.steps = 100, .scope = std::to_string(seed)});
    ASSERT_FALSE(difference) << *difference << "\nseed " << seed;
  }
}

// Nothing fails over: on a busy machine a server may be silent for a while.
TEST(RedisTopologiesTest, AStoreOnAClusterAnswersLikeAnyOther) {
  using redis::testing::RedisCluster;
  RedisDriver<RedisCluster> driver(RedisCluster::Replicas::kOneEach,
                                   std::vector<std::string>{"cluster-node-timeout 30000"});
  ExpectConformance(driver);
  ExpectAgreementWithTheModel(driver);
  EXPECT_GT(driver.store().StatsApprox().scattered, 0U);
  EXPECT_EQ(driver.store().StatsApprox().given_back, 0U);  // There were no other callers.
}

TEST(RedisTopologiesTest, AStoreBehindSentinelsAnswersLikeAnyOther) {
  using redis::testing::SentinelSet;
  const std::string timeout =
      "sentinel down-after-milliseconds " + std::string(SentinelSet::kName) + " 30000";
  RedisDriver<SentinelSet> driver(std::vector<std::string>{}, std::vector<std::string>{timeout});
  ExpectConformance(driver);
  ExpectAgreementWithTheModel(driver);
}

}  // namespace
}  // namespace sluice::store::testing
