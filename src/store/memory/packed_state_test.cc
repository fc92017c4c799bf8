#include "store/memory/packed_state.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::store {
namespace {

constexpr KeyHash kHash{(std::uint64_t{1} << 61) - 2, (std::uint64_t{1} << 61) - 3};
constexpr std::int64_t kLargestCounter = (1 << 27) - 1;

Limit Bucket() { return *Limit::TokenBucket({.capacity = 100, .refill = Rate::PerSecond(7)}); }

Limit Counter() {
  return *Limit::SlidingWindowCounter({.limit = kMaxAmount, .window = std::chrono::seconds(1)});
}

WallTime At(std::int64_t micros) { return WallTime{Micros{micros}}; }

std::vector<std::int64_t> TimesToTry() {
  return {0,
          1,
          2047,
          2048,
          1'900'000'000'000'000,
          kMaxTime.time_since_epoch().count() - 1,
          kMaxTime.time_since_epoch().count()};
}

TEST(PackedStateTest, ACellIsEmptyUntilSomethingIsPacked) {
  Cell cell;
  EXPECT_TRUE(cell.empty());
  ASSERT_TRUE(cell.TryPack({0, 0}, Bucket(), {}));
  EXPECT_FALSE(cell.empty()) << "although every bit of the hash is zero";
}

TEST(PackedStateTest, ABucketsValueAndTimeComeBackAtEveryExtreme) {
  const std::vector<std::int64_t> values{
      -kMaxAmount, -kMaxAmount + 1, -2049,     -2048, -2047, -1, 0, 1, 2047, 2048,
      2049,        kMaxAmount - 1,  kMaxAmount};
  for (const std::int64_t value : values) {
    for (const std::int64_t at : TimesToTry()) {
      Cell cell;
      ASSERT_TRUE(cell.TryPack(kHash, Bucket(), {.at = At(at), .value = value}));
      EXPECT_EQ(cell.State().value, value) << "at " << at;
      EXPECT_EQ(cell.State().at, At(at)) << "with " << value;
      EXPECT_EQ(cell.State().grant, 0);
    }
  }
}

TEST(PackedStateTest, BothCountersAndTheirTimeComeBackAtEveryExtreme) {
  const std::vector<std::int64_t> values{0, 1, 2047, 2048, kLargestCounter - 1, kLargestCounter};
  for (const std::int64_t value : values) {
    for (const std::int64_t previous : values) {
      for (const std::int64_t at : TimesToTry()) {
        Cell cell;
        ASSERT_TRUE(
            cell.TryPack(kHash, Counter(), {.at = At(at), .value = value, .previous = previous}));
        EXPECT_EQ(cell.State().value, value);
        EXPECT_EQ(cell.State().previous, previous);
        EXPECT_EQ(cell.State().at, At(at));
      }
    }
  }
}

TEST(PackedStateTest, ACountThatIsTooLargeIsNotPacked) {
  Cell cell;
  EXPECT_FALSE(cell.TryPack(kHash, Counter(), {.value = kLargestCounter + 1}));
}

TEST(PackedStateTest, AnEarlierCountThatIsTooLargeIsNotPacked) {
  Cell cell;
  EXPECT_FALSE(cell.TryPack(kHash, Counter(), {.previous = kLargestCounter + 1}));
}

TEST(PackedStateTest, AGrantIsNotPacked) {
  Cell cell;
  EXPECT_FALSE(cell.TryPack(kHash, Bucket(), {.grant = 1}));
}

TEST(PackedStateTest, AHistoryIsNotPacked) {
  const auto log = Limit::SlidingWindowLog({.limit = 5, .window = std::chrono::seconds(1)});
  algo::History history;
  Cell cell;
  EXPECT_FALSE(cell.TryPack(kHash, *log, {.history = &history}));
}

TEST(PackedStateTest, AFailedPackLeavesTheCellUnchanged) {
  Cell cell;
  ASSERT_TRUE(cell.TryPack(kHash, Counter(), {.at = At(7), .value = 3, .previous = 4}));
  ASSERT_FALSE(cell.TryPack(kHash, Counter(), {.at = At(8), .value = kLargestCounter + 1}));
  EXPECT_EQ(cell.State().at, At(7));
  EXPECT_EQ(cell.State().value, 3);
  EXPECT_EQ(cell.State().previous, 4);
}

TEST(PackedStateTest, ACellKnowsItsHash) {
  Cell cell;
  ASSERT_TRUE(cell.TryPack(kHash, Bucket(), {}));
  EXPECT_TRUE(cell.Is(kHash));
  EXPECT_EQ(cell.order(), kHash.high);
}

TEST(PackedStateTest, AHashThatDiffersInEitherHalfIsAnother) {
  Cell cell;
  ASSERT_TRUE(cell.TryPack(kHash, Bucket(), {}));
  EXPECT_FALSE(cell.Is({kHash.high - 1, kHash.low}));
  EXPECT_FALSE(cell.Is({kHash.high, kHash.low - 1}));
}

TEST(PackedStateTest, ACellKnowsTheNumbersItWasWrittenUnder) {
  Cell cell;
  ASSERT_TRUE(cell.TryPack(kHash, Bucket(), {.value = -1}));
  EXPECT_EQ(cell.Numbers(), Bucket().numbers());
  ASSERT_TRUE(cell.TryPack(kHash, Counter(), {.value = kLargestCounter, .previous = 1}));
  EXPECT_EQ(cell.Numbers(), Counter().numbers());
}

TEST(PackedStateTest, AnExtendedCellReturnsItsExtendedState) {
  ExtendedState extended{.limit = Bucket()};
  extended.state = {.at = At(9), .value = 5, .grant = 6};
  Cell cell;
  cell.SetExtended(kHash, &extended);
  EXPECT_TRUE(cell.Is(kHash));
  EXPECT_EQ(cell.extended(), &extended);
  EXPECT_EQ(cell.State().grant, 6);
  EXPECT_EQ(cell.Numbers(), Bucket().numbers());
}

TEST(PackedStateTest, ARepackedCellDropsItsExtendedState) {
  ExtendedState extended{.limit = Bucket()};
  Cell cell;
  cell.SetExtended(kHash, &extended);
  ASSERT_TRUE(cell.TryPack(kHash, Bucket(), {.value = 5}));
  EXPECT_EQ(cell.extended(), nullptr);
  EXPECT_EQ(cell.State().value, 5);
}

TEST(PackedStateTest, AnExtendedStateCountsItsHistoryAndItsName) {
  ExtendedState bare{.limit = Bucket()};
  ExtendedState full{.limit = Bucket()};
  for (int i = 0; i < 100; ++i) full.history.log.Insert({At(i), 1});
  full.name.assign(1000, 'x');
  EXPECT_GE(full.Bytes(), bare.Bytes() + 100 * sizeof(algo::LogEntry) + 1000);
}

}  // namespace
}  // namespace sluice::store
