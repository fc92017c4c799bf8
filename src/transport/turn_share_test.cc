#include "transport/turn_share.h"

#include <gtest/gtest.h>

namespace sluice::transport {
namespace {

using namespace std::chrono_literals;

SteadyTime fake_now{1h};
int looks = 0;
SteadyTime ReadFakeClock() {
  ++looks;
  return fake_now;
}

// How many requests may run that take so long each.
int RequestsOf(TurnShare& share, Micros each) {
  int requests = 0;
  for (; requests < 100'000 && share.Take(); ++requests) fake_now += each;
  return requests;
}

TEST(TurnShareTest, WithoutALimitItIsNeverUsedUp) {
  TurnShare share;
  EXPECT_EQ(RequestsOf(share, 1s), 100'000);
}

TEST(TurnShareTest, TheNumberOfRequestsPerTurnIsLimited) {
  TurnShare share(100, ReadFakeClock);
  for (int turn = 0; turn < 3; ++turn) {
    share.Renew(1s);
    share.Begin();
    EXPECT_EQ(RequestsOf(share, 1us), 100);
    EXPECT_TRUE(share.used());
    EXPECT_FALSE(share.Take());
  }
}

TEST(TurnShareTest, TheTimePerTurnIsLimited) {
  TurnShare share(4096, ReadFakeClock);
  share.Renew(2ms);
  share.Begin();
  const int requests = RequestsOf(share, 100us);
  EXPECT_GE(requests, 20);
  EXPECT_LE(requests, 36) << "it looks at the clock for every eighth";
}

TEST(TurnShareTest, TimeOfOthersIsNotCounted) {
  TurnShare share(4096, ReadFakeClock);
  share.Renew(2ms);
  for (int i = 0; i < 100; ++i) {
    share.Begin();
    EXPECT_TRUE(share.Take());
    fake_now += 1s;
  }
}

TEST(TurnShareTest, OneRequestMayRunInEveryTurn) {
  TurnShare share(1, ReadFakeClock);
  share.Renew(Micros{0});
  share.Begin();
  EXPECT_TRUE(share.Take());
  EXPECT_FALSE(share.Take());
}

TEST(TurnShareTest, FewRequestsDontReadTheClock) {
  TurnShare share(4096, ReadFakeClock);
  looks = 0;
  for (int turn = 0; turn < 100; ++turn) {
    share.Renew(2ms);
    share.Begin();
    for (int i = 0; i < 7; ++i) EXPECT_TRUE(share.Take());
  }
  EXPECT_EQ(looks, 0);
}

}  // namespace
}  // namespace sluice::transport
