#include "redis/breaker.h"

#include <chrono>

#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

using State = Breaker::State;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kQuick{100};

class BreakerTest : public ::testing::Test {
 protected:
  void Succeed(int times = 1) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(breaker_.Admit(now_));
      breaker_.Succeeded(now_, kQuick);
    }
  }
  void Fail(int times = 1) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(breaker_.Admit(now_));
      breaker_.Failed(now_);
    }
  }
  void Open() {
    Fail(5);
    ASSERT_EQ(breaker_.state(), State::kOpen);
  }

  SteadyTime now_{seconds(1000)};
  BreakerOptions options_;
  Breaker breaker_{options_};
};

TEST_F(BreakerTest, FiveFailuresInTenSecondsOpenIt) {
  Succeed();
  Fail(4);
  EXPECT_EQ(breaker_.state(), State::kClosed);
  Succeed();
  Fail();
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_EQ(breaker_.opened(), 1U);
  EXPECT_FALSE(breaker_.Admit(now_));
}

TEST_F(BreakerTest, FailuresAreForgottenAfterTheWindow) {
  for (int i = 0; i < 20; ++i) {
    Fail();
    Succeed();
    now_ += milliseconds(2600);
  }
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

TEST_F(BreakerTest, AFewAmongVeryManyDoNotOpenIt) {
  for (int i = 0; i < 100; ++i) {
    Succeed(1000);
    Fail();
    now_ += milliseconds(10);
  }
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

TEST_F(BreakerTest, OnlyFailuresForAWhileOpenItHoweverFew) {
  Succeed(1000);
  Fail();
  now_ += milliseconds(199);
  Fail();
  EXPECT_EQ(breaker_.state(), State::kClosed);
  now_ += milliseconds(1);
  Fail();
  EXPECT_EQ(breaker_.state(), State::kOpen);
}

TEST_F(BreakerTest, ASuccessResetsTheSeriesOfFailures) {
  for (int i = 0; i < 4; ++i) {
    Fail();
    now_ += milliseconds(150);
    Succeed();
  }
  EXPECT_EQ(breaker_.state(), State::kClosed);
}

TEST_F(BreakerTest, ASlowCallCountsAsFailed) {
  BreakerOptions options;
  options.slow = milliseconds(5);
  Breaker breaker(options);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(breaker.Admit(now_));
    breaker.Succeeded(now_, milliseconds(6));
  }
  EXPECT_EQ(breaker.state(), State::kOpen);
}

TEST_F(BreakerTest, AfterAPauseSuccessfulProbesCloseIt) {
  Open();
  now_ += milliseconds(499);
  EXPECT_FALSE(breaker_.Admit(now_));
  now_ += milliseconds(1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(breaker_.Admit(now_));
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  EXPECT_FALSE(breaker_.Admit(now_)) << "three at a time";
  breaker_.Succeeded(now_, kQuick);
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  EXPECT_TRUE(breaker_.Admit(now_));
  breaker_.Succeeded(now_, kQuick);
  EXPECT_EQ(breaker_.state(), State::kClosed);
  Fail(4);
  EXPECT_EQ(breaker_.state(), State::kClosed) << "what was before is forgotten";
}

TEST_F(BreakerTest, AFailedProbeOpensItAgain) {
  Open();
  now_ += milliseconds(500);
  ASSERT_TRUE(breaker_.Admit(now_));
  breaker_.Failed(now_);
  EXPECT_EQ(breaker_.state(), State::kOpen);
  EXPECT_EQ(breaker_.opened(), 2U);
  now_ += milliseconds(499);
  EXPECT_FALSE(breaker_.Admit(now_));
  now_ += milliseconds(1);
  EXPECT_TRUE(breaker_.Admit(now_));
}

TEST_F(BreakerTest, AnAbandonedProbeAllowsAnother) {
  Open();
  now_ += milliseconds(500);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(breaker_.Admit(now_));
    breaker_.Abandoned();
  }
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
}

TEST_F(BreakerTest, ALateReplyOrANewConnectionStartsProbing) {
  Open();
  breaker_.Succeeded(now_, kQuick);
  EXPECT_EQ(breaker_.state(), State::kHalfOpen);
  breaker_.Failed(now_);
  breaker_.TryNow();
  EXPECT_TRUE(breaker_.Admit(now_));
}

TEST_F(BreakerTest, StatesHaveNames) {
  EXPECT_EQ(NameOf(State::kClosed), "closed");
  EXPECT_EQ(NameOf(State::kOpen), "open");
  EXPECT_EQ(NameOf(State::kHalfOpen), "half_open");
}

TEST_F(BreakerTest, DisabledItNeverOpens) {
  Breaker breaker(BreakerOptions{.enabled = false});
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(breaker.Admit(now_));
    breaker.Failed(now_);
    now_ += milliseconds(10);
  }
  EXPECT_EQ(breaker.state(), State::kClosed);
}

}  // namespace
}  // namespace sluice::redis
