#include "server/store_speed.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class StoreSpeedTest : public ::testing::Test {
 protected:
  void Record(int times, std::chrono::nanoseconds took) {
    for (int i = 0; i < times; ++i) histogram_.Record(took);
  }
  bool LookIsSlow() {
    speed_.Update(histogram_);
    return speed_.is_slow();
  }

  Histogram histogram_;
  StoreSpeed speed_;
};

TEST_F(StoreSpeedTest, OneInAHundredMayBeSlow) {
  Record(990, microseconds(300));
  Record(10, milliseconds(20));
  EXPECT_FALSE(LookIsSlow());
  Record(980, milliseconds(5));
  Record(11, milliseconds(6));
  EXPECT_TRUE(LookIsSlow());
}

TEST_F(StoreSpeedTest, WhatIsOverIsForgotten) {
  Record(10, milliseconds(200));
  EXPECT_TRUE(LookIsSlow());
  Record(10, microseconds(300));
  EXPECT_FALSE(LookIsSlow());
}

TEST_F(StoreSpeedTest, OneSlowCallIsNoReasonNorIsNone) {
  EXPECT_FALSE(LookIsSlow());
  Record(1, milliseconds(200));
  EXPECT_FALSE(LookIsSlow());
}

}  // namespace
}  // namespace sluice::server
