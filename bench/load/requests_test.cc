#include "load/requests.h"

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

std::string Next(Requests& requests) {
  std::string text;
  requests.Append(text);
  return text;
}

TEST(Requests, PutsAKeyOfSevenDigitsIntoItsPlace) {
  Requests requests("INCR user:#######\r\n", 1);
  EXPECT_EQ(Next(requests), "INCR user:0000000\r\n");
  EXPECT_EQ(Next(requests), "INCR user:0000000\r\n");
}

TEST(Requests, VisitsEachKeyOnceBeforeTheFirstComesAgain) {
  for (const std::uint64_t keys : {2U, 7U, 1'000U, 123'456U}) {
    Requests requests("#######", keys);
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < keys; ++i) seen.insert(Next(requests));
    EXPECT_EQ(seen.size(), keys);
    EXPECT_EQ(*seen.begin(), "0000000");
    EXPECT_EQ(std::stoull(*seen.rbegin()), keys - 1);
    EXPECT_EQ(Next(requests), "0000000");
  }
}

TEST(Requests, FollowAnOrderAgainAndAgainAndTellTheKey) {
  Requests requests("#######", std::vector<std::uint32_t>{5, 0, 5});
  EXPECT_EQ(requests.keys(), 6U);
  for (const std::uint64_t key : {5U, 0U, 5U, 5U, 0U}) {
    std::string text;
    EXPECT_EQ(requests.Append(text), key);
    EXPECT_EQ(std::stoull(text), key);
  }
}

TEST(Requests, OfZipfAskForTheFirstKeyTwiceAsOftenAsForTheSecond) {
  constexpr std::uint32_t kKeys = 100;  // 1 + 1/2 + … + 1/100 = 5.19
  std::vector<int> asked(kKeys);
  for (const std::uint32_t key : ZipfOrder(kKeys, 100'000, 1)) ++asked[key];
  EXPECT_NEAR(asked[0], 19'280, 500);
  EXPECT_NEAR(asked[1], 9'640, 400);
  EXPECT_NEAR(asked[99], 193, 60);
}

TEST(Requests, AreAppended) {
  Requests requests("<#######>", 1);
  std::string text = "before";
  requests.Append(text);
  requests.Append(text);
  EXPECT_EQ(text, "before<0000000><0000000>");
}

TEST(Requests, RefuseWhatHasNoPlaceOrTooManyKeys) {
  EXPECT_THROW(Requests("PING\r\n", 1), std::runtime_error);
  EXPECT_THROW(Requests("#######", 0), std::runtime_error);
  EXPECT_THROW(Requests("#######", std::vector<std::uint32_t>{}), std::runtime_error);
  EXPECT_THROW(Requests("#######", 10'000'001), std::runtime_error);
}

}  // namespace
}  // namespace sluice::bench
