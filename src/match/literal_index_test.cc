#include "match/literal_index.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice::match {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::uint32_t> In(const LiteralIndex& index, std::string_view value) {
  std::vector<std::uint32_t> found;
  index.ForEach(value, [&](std::uint32_t id) { found.push_back(id); });
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

TEST(LiteralIndex, FindsShortLiteralsAtTheEndsOfAValue) {
  const LiteralIndex index({{{"sk_", true, false}, 0},
                            {{"a", true, false}, 1},
                            {{"_b", false, true}, 2},
                            {{"sk_", true, true}, 3},
                            {{"sk_", true, false}, 4},
                            {{"sk_live_", true, false}, 5}});
  EXPECT_THAT(In(index, "sk_live_b"), ElementsAre(0, 2, 4, 5));
  EXPECT_THAT(In(index, "sk_"), ElementsAre(0, 3, 4));
  EXPECT_THAT(In(index, "a"), ElementsAre(1));
  EXPECT_THAT(In(index, "xsk_a"), IsEmpty());
  EXPECT_THAT(In(index, "sk"), IsEmpty());
  EXPECT_THAT(In(index, ""), IsEmpty());
  EXPECT_FALSE(LiteralIndex::CanHold({"sk_", false, false}));
  EXPECT_FALSE(LiteralIndex::CanHold({"", true, false}));
}

TEST(LiteralIndex, AnIndexThatFoldsFindsEveryCase) {
  const LiteralIndex index({{{"/Orders", false, false}, 0}, {{"Sk_", true, false}, 1}},
                           LiteralIndex::Case::kFolds);
  EXPECT_THAT(In(index, "/v1/ORDERS/7"), ElementsAre(0));
  EXPECT_THAT(In(index, "sK_/orders"), ElementsAre(0, 1));
  EXPECT_THAT(In(index, "/v1/order"), IsEmpty());
}

TEST(LiteralIndex, FindsLiteralsWhereTheyMayBe) {
  const LiteralIndex index({{{"/v1/", true, false}, 0},
                            {{"/orders", false, false}, 1},
                            {{".json", false, true}, 2},
                            {{"/v1/all", true, true}, 3},
                            {{"/orders", false, false}, 4}});
  EXPECT_THAT(In(index, "/v1/orders"), ElementsAre(0, 1, 4));
  EXPECT_THAT(In(index, "/x/v1/orders.json"), ElementsAre(1, 2, 4));
  EXPECT_THAT(In(index, "/v1/all"), ElementsAre(0, 3));
  EXPECT_THAT(In(index, "/v1/all/x"), ElementsAre(0));
  EXPECT_THAT(In(index, "/x"), IsEmpty());
  EXPECT_THAT(In(index, ""), IsEmpty());
  EXPECT_THAT(In(LiteralIndex(), "/v1/all"), IsEmpty());
}

TEST(LiteralIndex, AgreesWithLookingForEach) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const auto text = [&](std::size_t least, std::size_t most) {
    std::string out(least + random() % (most - least + 1), ' ');
    for (char& c : out) c = "ab"[random() % 2];
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<LiteralIndex::Wanted> wanted(1 + random() % 60);
    for (std::uint32_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = {{text(4, 9), random() % 3 == 0, random() % 3 == 0}, i};
    }
    const LiteralIndex index(wanted);
    for (int i = 0; i < 50; ++i) {
      const std::string value = text(0, 16);
      std::vector<std::uint32_t> expected;
      for (const auto& each : wanted) {
        if (each.literal.In(value)) expected.push_back(each.id);
      }
      ASSERT_EQ(In(index, value), expected) << value;
    }
  }
}

}  // namespace
}  // namespace sluice::match
