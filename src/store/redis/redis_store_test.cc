#include "store/redis/redis_store.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "redis/testing/redis_server.h"
#include "store/redis/testing/redis_driver.h"
#include "store/testing/conformance.h"
#include "store/testing/model_store.h"
#include "store/testing/random_run.h"

namespace sluice::store::testing {
namespace {

using algo::testing::RandomChoices;
using algo::testing::TestSeeds;

RedisDriver<redis::testing::RedisServer>& TheDriver() {
  static RedisDriver<redis::testing::RedisServer> driver;
  return driver;
}

class RedisStoreConforms : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(RedisStoreConforms, To) { GetParam().run(TheDriver()); }

INSTANTIATE_TEST_SUITE_P(All, RedisStoreConforms, ::testing::ValuesIn(ConformanceCases()),
                         NameOfCase);

constexpr int kSteps = 100;

void ExpectAgreement(std::uint64_t seed) {
  RandomChoices choices(seed);
  const RunOptions options{.steps = kSteps, .scope = std::to_string(seed)};
  const auto difference = RunAgainstModel(TheDriver(), choices, options);
  ASSERT_FALSE(difference) << *difference << "\nseed " << seed;
}

TEST(RedisStoreTest, AgreesWithTheModelOnRandomCalls) {
  constexpr std::size_t kSequences = 300;
  for (const std::uint64_t seed : TestSeeds(kSequences)) ExpectAgreement(seed);
}

TEST(RedisStoreTest, AgreesWithTheModelOnCrowdedLogsAndSlots) {
  constexpr std::size_t kSequences = 3;
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const auto difference = RunAgainstModel(
        TheDriver(), choices,
        {.steps = 3000, .scope = "crowd" + std::to_string(seed), .kind = QuestionKind::kCrowded});
    ASSERT_FALSE(difference) << *difference << "\nseed " << seed;
  }
}

class ModelDriver final : public Driver {
 public:
  ModelStore& store() override { return store_; }

 private:
  ModelStore store_;
};

TEST(RedisStoreTest, AgreesWithTheModelOnListsOfPlainChecks) {
  constexpr std::size_t kSequences = 200;
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    ModelDriver model;
    const auto difference = RunBatchesAgainstSingles(
        TheDriver(), model, choices,
        {.steps = 20, .scope = "plain" + std::to_string(seed), .kind = QuestionKind::kMostlyPlain});
    ASSERT_FALSE(difference) << *difference << "\nseed " << seed;
  }
}

// A debt that grows past 2^53 under another rate: the script ran for ever.
TEST(RedisStoreTest, ADebtBeyondTheMaximumIsClamped) { ExpectAgreement(4126223342); }

}  // namespace
}  // namespace sluice::store::testing
