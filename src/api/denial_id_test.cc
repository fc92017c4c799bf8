#include "api/denial_id.h"

#include <chrono>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace sluice::api {
namespace {

DenialFacts ExampleFacts() {
  return {.time = WallTime{std::chrono::milliseconds(1'763'000'000'123)},
          .limit_hash = HashOfLimit("search", "per minute"),
          .rules_fingerprint = ShortFingerprint("0123abcdef"),
          .degraded = false,
          .cap = 100,
          .remaining = 3,
          .cost = 5,
          .wait = std::chrono::milliseconds(2'400)};
}

std::string IdTextOf(const DenialIds& ids, const DenialFacts& facts) {
  std::string id;
  ids.Append(facts, id);
  return id;
}

TEST(DenialIds, AnyServerWithTheSameSecretReadsAnId) {
  const DenialIds ids("secret");
  const std::string id = IdTextOf(ids, ExampleFacts());
  EXPECT_EQ(id.size(), DenialIds::kTextBytes);
  EXPECT_EQ(DenialIds("secret").Read(id), ExampleFacts());
  EXPECT_EQ(IdTextOf(ids, ExampleFacts()), id);  // No state is kept in between.
  DenialFacts never = ExampleFacts();
  never.wait = Micros{-1};
  never.degraded = true;
  EXPECT_EQ(ids.Read(IdTextOf(ids, never)), never);
  EXPECT_NE(IdTextOf(ids, never).substr(0, 16), id.substr(0, 16));
}

TEST(DenialIds, ForgedDamagedAndForeignIdsAreNotRead) {
  const DenialIds ids("secret");
  const std::string id = IdTextOf(ids, ExampleFacts());
  EXPECT_FALSE(DenialIds("another secret").Read(id));
  for (std::size_t i = 0; i < id.size(); ++i) {
    std::string changed = id;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(ids.Read(changed)) << i;
    EXPECT_FALSE(ids.Read(id.substr(0, i))) << i;
  }
  EXPECT_FALSE(ids.Read(id + "A"));
  EXPECT_FALSE(ids.Read(std::string(DenialIds::kTextBytes, '!')));
  EXPECT_FALSE(ids.Read(""));
}

TEST(DenialIds, LargeNumbersAreRoundedAndSmallOnesAreExact) {
  const DenialIds ids("secret");
  std::mt19937_64 random(5);
  for (int i = 0; i < 2000; ++i) {
    DenialFacts facts = ExampleFacts();
    const int bits = static_cast<int>(random() % 50);
    facts.cap = static_cast<std::int64_t>(random() >> (63 - bits));
    facts.remaining = static_cast<std::int64_t>(random() % (1U << 19));
    const auto read = ids.Read(IdTextOf(ids, facts));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->remaining, facts.remaining);
    EXPECT_LE(read->cap, facts.cap);
    EXPECT_LE(facts.cap - read->cap, facts.cap >> 18);
  }
}

}  // namespace
}  // namespace sluice::api
