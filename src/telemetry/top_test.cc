#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "base/text_hash.h"
#include "telemetry/adaptive_sampler.h"
#include "telemetry/space_saving.h"
#include "telemetry/top_sum.h"
#include "telemetry/top_windows.h"

namespace sluice::telemetry {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

using Exact = std::unordered_map<std::uint64_t, std::uint64_t>;

std::uint64_t HashOf(std::uint64_t item) {
  return MixHash(item + 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F);
}

WallTime At(Micros since_1970) { return WallTime{since_1970}; }

void AddTo(SpaceSaving& sketch, std::uint64_t item, std::uint64_t amount, double variance = 0) {
  const auto added = sketch.Add(HashOf(item), amount, variance);
  if (added.new_text != nullptr) added.new_text->Set("rule", std::to_string(item), "", false);
}

// Items of which few are frequent.
class Zipf {
 public:
  Zipf(std::size_t items, double exponent) {
    double sum = 0;
    for (std::size_t i = 1; i <= items; ++i) {
      sum += 1 / std::pow(static_cast<double>(i), exponent);
      ends_.push_back(sum);
    }
  }
  std::uint64_t operator()(std::mt19937_64& random) const {
    const double at = std::uniform_real_distribution<double>(0, ends_.back())(random);
    return static_cast<std::uint64_t>(std::lower_bound(ends_.begin(), ends_.end(), at) -
                                      ends_.begin());
  }

 private:
  std::vector<double> ends_;
};

struct Event {
  std::uint64_t item;
  std::uint64_t amount;
};

// Streams that are hard for sketches: no frequent items, all of them at the end, taking turns.
std::vector<std::vector<Event>> Streams(std::mt19937_64& random) {
  std::vector<std::vector<Event>> streams;
  for (const double exponent : {0.8, 1.1, 1.5}) {
    const Zipf zipf(10'000, exponent);
    std::vector<Event>& stream = streams.emplace_back();
    for (int i = 0; i < 12'000; ++i) stream.push_back({zipf(random), 1});
  }
  std::vector<Event>& all_different = streams.emplace_back();
  for (std::uint64_t i = 0; i < 12'000; ++i) all_different.push_back({i, 1});
  std::vector<Event>& in_turn = streams.emplace_back();
  for (std::uint64_t i = 0; i < 12'000; ++i) {
    in_turn.push_back({i % (SpaceSaving::kCounters + 1), 1});
  }
  std::vector<Event>& late = streams.emplace_back();
  for (std::uint64_t i = 0; i < 10'000; ++i) late.push_back({1000 + i, 1});
  for (std::uint64_t i = 0; i < 3'000; ++i) late.push_back({i % 3, 1});
  std::vector<Event>& weighted = streams.emplace_back();
  const Zipf zipf(20'000, 1.0);
  for (int i = 0; i < 12'000; ++i) weighted.push_back({zipf(random), 1 + random() % 1000});
  return streams;
}

// Bounds of rows and of what has no row.
void ExpectBounds(const TopSlice& slice, const Exact& exact) {
  std::unordered_map<std::uint64_t, const TopRow*> rows;
  for (const TopRow& row : slice.rows) rows[row.hash] = &row;
  for (const auto& [item, amount] : exact) {
    const auto found = rows.find(HashOf(item));
    if (found == rows.end()) {
      ASSERT_LE(amount, slice.max_absent) << item;
      continue;
    }
    const TopRow& row = *found->second;
    ASSERT_LE(amount, row.count + row.Error()) << item;
    ASSERT_GE(amount + row.Error(), row.count) << item;
  }
}

TEST(SpaceSavingTest, CountsAreWithinTheirBoundsForEveryItemOfEveryStream) {
  constexpr std::uint64_t kSeed = 17;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  SpaceSaving sketch;
  for (const std::vector<Event>& stream : Streams(random)) {
    sketch.Clear();
    Exact exact;
    for (const Event& event : stream) {
      AddTo(sketch, event.item, event.amount);
      exact[event.item] += event.amount;
    }
    std::uint64_t total = 0;
    for (const auto& [item, amount] : exact) total += amount;
    EXPECT_EQ(sketch.total(), total);
    // The guarantee of the algorithm: nothing that is missing has more than its share.
    EXPECT_LE(sketch.MaxAbsent(), total / SpaceSaving::kCounters);
    for (std::size_t i = 0; i < sketch.counters().size(); ++i) {
      const SpaceSaving::Counter& counter = sketch.counters()[i];
      const auto item = std::stoull(std::string(sketch.text(i).key()));
      ASSERT_LE(exact[item], counter.count);
      ASSERT_GE(exact[item] + counter.error, counter.count);
    }
    ExpectBounds(SliceOf(sketch, 1, {}), exact);
  }
}

TEST(SpaceSavingTest, IsExactForFewItems) {
  SpaceSaving sketch;
  for (int round = 0; round < 5; ++round) {
    for (std::uint64_t item = 0; item < SpaceSaving::kCounters; ++item)
      AddTo(sketch, item, item + 1);
  }
  ASSERT_EQ(sketch.counters().size(), SpaceSaving::kCounters);
  for (std::size_t i = 0; i < SpaceSaving::kCounters; ++i) {
    EXPECT_EQ(sketch.counters()[i].count, 5 * (std::stoull(std::string(sketch.text(i).key())) + 1));
    EXPECT_EQ(sketch.counters()[i].error, 0U);
  }
}

TEST(TopSumTest, SlicesOfLoopsAndTimesAddUpWithinTheBounds) {
  constexpr std::uint64_t kSeed = 4;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const std::vector<Event>& stream : Streams(random)) {
    TopSum sum;
    SpaceSaving sketch;
    Exact exact;
    for (std::size_t i = 0; i < stream.size(); ++i) {
      AddTo(sketch, stream[i].item, stream[i].amount);
      exact[stream[i].item] += stream[i].amount;
      if (i % 3'001 != 0) continue;
      sum.Add(SliceOf(sketch, 1, {}));
      sketch.Clear();
    }
    sum.Add(SliceOf(sketch, 1, {}));
    for (const std::size_t rows : {std::size_t{8192}, std::size_t{256}, std::size_t{3}}) {
      const TopSlice slice = sum.Take(rows);
      EXPECT_LE(slice.rows.size(), rows);
      ExpectBounds(slice, exact);
    }
    // As nodes publish it: cut, and added again.
    TopSum cluster;
    for (int node = 0; node < 3; ++node) cluster.Add(sum.Take(256));
    Exact threefold = exact;
    for (auto& [item, amount] : threefold) amount *= 3;
    ExpectBounds(cluster.Take(1024), threefold);
  }
}

TEST(TopSumTest, TheSumOfManyRowsIsBounded) {
  TopSum sum;
  Exact exact;
  for (std::uint64_t piece = 0; piece < 30; ++piece) {
    SpaceSaving sketch;
    for (std::uint64_t i = 0; i < SpaceSaving::kCounters; ++i) {
      const std::uint64_t item = i < 10 ? i : piece * 10'000 + i;
      AddTo(sketch, item, i < 10 ? 100 : 1);
      exact[item] += i < 10 ? 100 : 1;
    }
    sum.Add(SliceOf(sketch, 1, {}));
  }
  const TopSlice slice = sum.Take(100'000);
  EXPECT_LE(slice.rows.size(), 8 * SpaceSaving::kCounters);
  ExpectBounds(slice, exact);
  EXPECT_EQ(slice.rows.front().count, 3000U);
}

TEST(AdaptiveSamplerTest, FewEventsAreAllChosenAndManyCostFew) {
  AdaptiveSampler sampler(1000, 500, 1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(sampler.Choose(), 1U);
  std::uint64_t chosen = 0;
  for (int i = 0; i < 1'000'000; ++i) chosen += sampler.Choose() > 0 ? 1 : 0;
  EXPECT_LT(chosen, 8000U);
  sampler.Restart();
  EXPECT_EQ(sampler.Choose(), 1U);
}

TEST(AdaptiveSamplerTest, SampledCountsAreWithinTheBoundThatTheyState) {
  std::size_t outside = 0;
  std::size_t rows = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Zipf zipf(5'000, 1.1);
    AdaptiveSampler sampler(1024, 512, seed);
    SpaceSaving sketch;
    Exact exact;
    std::uint32_t max_weight = 1;
    for (int i = 0; i < 60'000; ++i) {
      const std::uint64_t item = zipf(random);
      ++exact[item];
      const std::uint32_t weight = sampler.Choose();
      if (weight == 0) continue;
      max_weight = std::max(max_weight, weight);
      AddTo(sketch, item, weight, static_cast<double>(weight) * (weight - 1));
    }
    const TopSlice slice = SliceOf(sketch, max_weight, {});
    for (const TopRow& row : slice.rows) {
      const std::uint64_t real = exact[std::stoull(row.key)];
      ++rows;
      outside += real > row.count + row.Error() || real + row.Error() < row.count ? 1 : 0;
    }
    // The largest is found, and its bound says something.
    const auto largest = std::max_element(slice.rows.begin(), slice.rows.end(),
                                          [](auto& a, auto& b) { return a.count < b.count; });
    EXPECT_EQ(largest->key, "0");
    EXPECT_LT(largest->Error(), largest->count / 2);
  }
  EXPECT_EQ(outside, 0U) << "of " << rows;
}

TopSlice Slice(std::uint64_t item, std::uint64_t count, WallTime now) {
  SpaceSaving sketch;
  AddTo(sketch, item, count);
  return SliceOf(sketch, 1, now);
}

std::uint64_t CountIn(const TopWindows& windows, TopWindow window) {
  const TopSlice slice = windows.Take(window, 10);
  return slice.rows.empty() ? 0 : slice.rows[0].count;
}

TEST(TopWindowsTest, CallsLeaveTheShortWindowFirst) {
  TopWindows windows;
  const WallTime start = At(minutes(1'000'000));
  windows.Add(Slice(1, 5, start), start);
  for (const TopWindow window : {TopWindow::kMinute, TopWindow::kTenMinutes, TopWindow::kHour}) {
    EXPECT_EQ(CountIn(windows, window), 5U);
  }
  windows.Advance(start + seconds(59));
  EXPECT_EQ(CountIn(windows, TopWindow::kMinute), 5U);
  windows.Advance(start + seconds(60));
  EXPECT_EQ(CountIn(windows, TopWindow::kMinute), 0U);
  EXPECT_EQ(CountIn(windows, TopWindow::kTenMinutes), 5U);
  windows.Advance(start + minutes(10));
  EXPECT_EQ(CountIn(windows, TopWindow::kTenMinutes), 0U);
  EXPECT_EQ(CountIn(windows, TopWindow::kHour), 5U);
  windows.Advance(start + minutes(60));
  EXPECT_EQ(CountIn(windows, TopWindow::kHour), 0U);
}

TEST(TopWindowsTest, SteadyTrafficIsCountedOncePerWindow) {
  TopWindows windows;
  const WallTime start = At(minutes(1'000'000));
  for (int second = 0; second < 7200; ++second) {
    windows.Add(Slice(1, 1, start + seconds(second)), start + seconds(second));
  }
  // The last second of a slice of each length: the windows are whole.
  EXPECT_EQ(CountIn(windows, TopWindow::kMinute), 60U);
  EXPECT_EQ(CountIn(windows, TopWindow::kTenMinutes), 600U);
  EXPECT_EQ(CountIn(windows, TopWindow::kHour), 3600U);
  EXPECT_EQ(windows.BeginOf(TopWindow::kHour), start + minutes(60));
}

TEST(TopWindowsTest, AClockThatGoesBackLosesNothing) {
  TopWindows windows;
  const WallTime start = At(minutes(1'000'000));
  windows.Add(Slice(1, 1, start), start);
  windows.Add(Slice(1, 1, start), start - minutes(5));
  EXPECT_EQ(CountIn(windows, TopWindow::kMinute), 2U);
}

TEST(PairTextTest, LongKeysAreCutAndStayDifferent) {
  PairText text;
  text.Set("rule", "alice", "a:b", true);
  EXPECT_EQ(text.rule(), "rule");
  EXPECT_EQ(text.key(), "alice:a:b");
  EXPECT_TRUE(text.is_secret());
  const std::string prefix(300, 'x');
  PairText other;
  text.Set(prefix, prefix + "1", "", false);
  other.Set(prefix, prefix + "2", "", false);
  EXPECT_EQ(text.rule().size(), PairText::kMaxRuleBytes);
  EXPECT_EQ(text.key().size(), PairText::kMaxKeyBytes);
  EXPECT_NE(text.key(), other.key());
}

}  // namespace
}  // namespace sluice::telemetry
