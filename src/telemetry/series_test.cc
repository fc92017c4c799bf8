#include "telemetry/series.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter.h"

namespace sluice::telemetry {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

struct Numbers {
  Counter allowed;
  Counter denied;

  void operator+=(const Numbers& other) { AddMetrics(other, *this); }
  static constexpr auto Metrics() {
    using enum MetricType;
    return std::tuple{Metric{kCounter, "allowed_total", "Allowed.", &Numbers::allowed},
                      Metric{kCounter, "denied_total", "Denied.", &Numbers::denied}};
  }
};

class SeriesTest : public ::testing::Test {
 protected:
  static std::vector<SeriesIds::Values> Others() { return {{"_other", "a"}, {"_other", "b"}}; }
  static SeriesIds MakeIds(std::size_t max) { return {{"rule", "algorithm"}, Others(), max}; }
};

TEST_F(SeriesTest, ARuleKeepsItsSeries) {
  SeriesIds ids({"rule"}, {{"_other"}});
  const Series first = ids.Intern({"x"});
  const Series second = ids.Intern({"y"});
  EXPECT_NE(first, second);
  EXPECT_EQ(ids.Intern({"x"}), first);
  EXPECT_EQ(ids.Intern({"y"}), second);
}

TEST_F(SeriesTest, EachLabelTellsSeriesApart) {
  SeriesIds ids({"rule", "limit"}, {});
  const Series first = ids.Intern({"llm", "rpm"});
  EXPECT_NE(ids.Intern({"llm", "tpm"}), first);
  EXPECT_NE(ids.Intern({"chat", "rpm"}), first);
  EXPECT_NE(ids.Intern({"ll", "mrpm"}), first) << "values do not run together";
  EXPECT_NE(ids.Intern({"llm3:rpm", ""}), first);
}

TEST_F(SeriesTest, LaterSeriesAreSharedAfterTheLast) {
  SeriesIds ids({"rule", "algorithm"}, Others(), 2);
  const Series kept = ids.Intern({"x", "a"});
  ids.Intern({"y", "a"});
  EXPECT_EQ(ids.overflowed(), 0U);
  EXPECT_EQ(ids.Intern({"z", "b"}, {1}), Series{1});
  EXPECT_EQ(ids.Intern({"u", "b"}, {1}), Series{1});
  EXPECT_THAT(ids.All()[1], ElementsAre("_other", "b"));
  EXPECT_EQ(ids.overflowed(), 2U);
  EXPECT_EQ(ids.Intern({"x", "a"}), kept);
}

TEST_F(SeriesTest, ARuleWithTheNameOfASharedSeriesIsCountedInIt) {
  SeriesIds ids({"rule", "algorithm"}, Others(), 0);
  EXPECT_EQ(ids.Intern({"_other", "b"}), Series{1});
}

TEST_F(SeriesTest, NamesThatAreWrittenAlikeAreOne) {
  SeriesIds ids({"rule"}, {});
  EXPECT_EQ(ids.Intern({"a\xFF"}), ids.Intern({"a\xFE"}));
  EXPECT_THAT(ids.All().back(), ElementsAre("a\xEF\xBF\xBD"));
}

TEST_F(SeriesTest, EachSeriesHasItsOwnCounters) {
  SeriesIds ids({"rule", "algorithm"}, Others(), 3);
  SeriesCounters<Numbers> counters(ids);
  for (std::uint32_t i = 0; i < ids.capacity(); ++i) {
    counters[Series{i}].allowed.Add(i);
    counters[Series{i}].denied.Add();
  }
  for (std::uint32_t i = 0; i < ids.capacity(); ++i) {
    EXPECT_EQ(counters[Series{i}].allowed, i);
    EXPECT_EQ(counters[Series{i}].denied, 1U);
  }
}

TEST_F(SeriesTest, SharedSeriesAreReportedOnlyIfTheyWereCounted) {
  SeriesIds ids({"rule", "algorithm"}, Others(), 1);
  ids.Intern({"x", "a"});
  SeriesCounters<Numbers> counters(ids);
  const auto read = [&] {
    SeriesTotals<Numbers> totals(ids);
    totals.Add(counters);
    std::vector<std::string> rules;
    for (const auto& one : totals.Read()) rules.emplace_back(one.labels[0].value);
    return rules;
  };
  EXPECT_THAT(read(), ElementsAre("x"));
  counters[ids.Intern({"y", "b"}, {1})].denied.Add();
  EXPECT_THAT(read(), ElementsAre("_other", "x"));
}

TEST_F(SeriesTest, APageIsBoundedWhateverTheRules) {
  SeriesIds ids({"rule"}, {{"_other"}});
  SeriesCounters<Numbers> counters(ids);
  for (int i = 0; i < 20'000; ++i) counters[ids.Intern({std::to_string(i)})].allowed.Add();
  SeriesTotals<Numbers> totals(ids);
  totals.Add(counters);
  const auto all = totals.Read();
  EXPECT_THAT(all, SizeIs(10'001));
  EXPECT_EQ(all[0].labels[0].value, "_other");
  EXPECT_EQ(all[0].values->allowed, 10'000U);
}

// Loops count and get new rules while another thread reads: values never shrink, and in the end
// nothing is lost.
TEST_F(SeriesTest, ReadersSeeGrowingNumbersWhileLoopsCount) {
  constexpr int kLoops = 3;
  constexpr int kCalls = 20'000;
  constexpr std::uint32_t kRules = 500;
  SeriesIds ids({"rule"}, {{"_other"}}, kRules);
  std::vector<std::unique_ptr<SeriesCounters<Numbers>>> loops;
  for (int i = 0; i < kLoops; ++i) {
    loops.push_back(std::make_unique<SeriesCounters<Numbers>>(ids));
  }
  std::atomic<int> running = kLoops;
  std::vector<std::thread> threads;
  for (int i = 0; i < kLoops; ++i) {
    threads.emplace_back([&ids, &running, &mine = *loops[static_cast<std::size_t>(i)]] {
      Series series;
      for (int call = 0; call < kCalls; ++call) {
        if (call % 40 == 0) series = ids.Intern({"rule" + std::to_string(call / 40)});
        (call % 2 == 0 ? mine[series].allowed : mine[series].denied).Add();
      }
      --running;
    });
  }
  const auto total = [&] {
    SeriesTotals<Numbers> totals(ids);
    for (const auto& loop : loops) totals.Add(*loop);
    std::uint64_t sum = 0;
    for (const auto& one : totals.Read()) sum += one.values->allowed + one.values->denied;
    return sum;
  };
  std::uint64_t last = 0;
  do {
    const std::uint64_t now = total();
    EXPECT_GE(now, last);
    last = now;
  } while (running != 0);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total(), std::uint64_t{kLoops} * kCalls);
}

}  // namespace
}  // namespace sluice::telemetry
