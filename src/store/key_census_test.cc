#include "store/key_census.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::store {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kStart{hours(24) * 20'000};

/// The key with this number; good until the next.
Key KeyOf(int number) {
  thread_local std::string name;
  name = std::to_string(number);
  return {.scope = ":throttle", .tag = name, .rest = {}};
}

class KeyCensusTest : public ::testing::Test {
 protected:
  int AdmitAll(int from, int to, WallTime now, Micros life) {
    int admitted = 0;
    for (int i = from; i < to; ++i) admitted += census_->Admit(KeyOf(i), now, life) ? 1 : 0;
    return admitted;
  }

  static constexpr std::size_t kBound = 10'000;
  /// Keys that may be mistaken for known ones among some ten thousand: each is with a probability
  /// of about one in a million, by the secret of the hash.
  static constexpr int kMistaken = 3;
  std::unique_ptr<KeyCensus> census_ = std::move(KeyCensus::Create(kBound)).value();
};

TEST_F(KeyCensusTest, AdmitsAsManyKeysAsItsBound) {
  EXPECT_NEAR(AdmitAll(0, 30'000, kStart, hours(1)), 10'000, kMistaken);
  EXPECT_EQ(census_->Count(kStart), kBound);
  EXPECT_NEAR(static_cast<double>(census_->refused()), 20'000, kMistaken);
}

TEST_F(KeyCensusTest, AdmitsKnownKeysPastItsBound) {
  AdmitAll(0, 30'000, kStart, hours(1));
  EXPECT_NEAR(AdmitAll(0, 10'000, kStart + minutes(50), hours(1)), 10'000, kMistaken);
  EXPECT_NEAR(AdmitAll(10'000, 30'000, kStart + minutes(50), hours(1)), 0, kMistaken);
}

TEST_F(KeyCensusTest, AdmitsOthersOnceKeysHaveExpired) {
  AdmitAll(0, 5'000, kStart, minutes(1));
  AdmitAll(5'000, 10'000, kStart, hours(24) * 31);
  EXPECT_NEAR(AdmitAll(20'000, 30'000, kStart + seconds(30), minutes(1)), 0, kMistaken);
  EXPECT_NEAR(AdmitAll(20'000, 30'000, kStart + seconds(64), minutes(1)), 5'000, kMistaken);
  EXPECT_NEAR(static_cast<double>(census_->Count(kStart + minutes(10))), 5'000, kMistaken);
  EXPECT_EQ(census_->Count(kStart + hours(24) * 32), 0U);
}

TEST_F(KeyCensusTest, CountsAKeyNoMoreThanASixtyFourthOfItsLifeTooLong) {
  for (Micros life = seconds(1); life < hours(24) * 365 * 100; life += life / 3) {
    const auto census = std::move(KeyCensus::Create(100)).value();
    const Micros begin = kStart.time_since_epoch() + life % seconds(97);
    ASSERT_TRUE(census->Admit(KeyOf(1), WallTime{begin}, life));
    EXPECT_EQ(census->Count(WallTime{begin + life - Micros{1}}), 1U) << life.count();
    EXPECT_EQ(census->Count(WallTime{begin + life + life / 64 + seconds(3)}), 0U) << life.count();
  }
}

TEST_F(KeyCensusTest, FewNewKeysCollideWithKnownOnes) {
  AdmitAll(0, 10'000, kStart, hours(1));
  constexpr int kOthers = 2'000'000;
  EXPECT_LE(AdmitAll(10'000, 10'000 + kOthers, kStart, hours(1)), 5);
}

TEST_F(KeyCensusTest, KeepsAKeyForItsLatestTimeToLive) {
  AdmitAll(0, 10'000, kStart, hours(1));
  for (int i = 0; i < 5'000; ++i) census_->SetLife(KeyOf(i), kStart, seconds(10));
  for (int i = 0; i < 1'000; ++i) census_->SetLife(KeyOf(i), kStart, hours(2));
  census_->SetLife(KeyOf(9'999), kStart, Micros{0});
  EXPECT_NEAR(static_cast<double>(census_->Count(kStart)), 9'999, kMistaken);
  EXPECT_NEAR(static_cast<double>(census_->Count(kStart + minutes(1))), 5'999, kMistaken);
  EXPECT_NEAR(static_cast<double>(census_->Count(kStart + minutes(62))), 1'000, kMistaken);
}

TEST_F(KeyCensusTest, StaysAccurateWhileKeysComeAndGo) {
  WallTime now = kStart;
  int next = 0;
  for (int round = 0; round < 300; ++round) {
    now += seconds(20);
    for (int i = 0; i < 3'000; ++i) {
      ++next;
      (void)census_->Admit(KeyOf(next), now, seconds(1 + next % 100));
    }
    ASSERT_LE(census_->Count(now), kBound);
  }
  EXPECT_EQ(census_->Count(now + seconds(200)), 0U);
}

TEST_F(KeyCensusTest, WorksWhenTheClockIsSetBack) {
  AdmitAll(0, 10'000, kStart, minutes(1));
  EXPECT_NEAR(AdmitAll(20'000, 30'000, kStart - hours(5), minutes(1)), 0, kMistaken);
  EXPECT_NEAR(AdmitAll(20'000, 30'000, kStart + minutes(2), minutes(1)), 10'000, kMistaken);
}

TEST_F(KeyCensusTest, IsSharedByThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back([&] { AdmitAll(0, 9'000, kStart, hours(1)); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_NEAR(static_cast<double>(census_->Count(kStart)), 9'000, kMistaken);
}

TEST(KeyCensusOfFew, AdmitsAsManyAsItsBound) {
  for (const std::size_t bound : {1U, 7U, 100U}) {
    const auto census = std::move(KeyCensus::Create(bound)).value();
    std::size_t admitted = 0;
    for (int i = 0; i < 1000; ++i) admitted += census->Admit(KeyOf(i), kStart, hours(1)) ? 1U : 0U;
    EXPECT_EQ(admitted, bound);
  }
}

}  // namespace
}  // namespace sluice::store
