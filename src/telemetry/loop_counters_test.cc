#include "telemetry/loop_counters.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "telemetry/metrics_snapshot.h"

namespace sluice::telemetry {
namespace {

TEST(LabelsTest, AlgorithmsAreNamedAsEverywhereElse) {
  for (std::size_t i = 0; i < kLabels<Algorithm>.size(); ++i) {
    EXPECT_EQ(kLabels<Algorithm>[i], AlgorithmName(static_cast<Algorithm>(i)));
  }
}

TEST(LoopCountersTest, OneCallInSixtyOneIsSampled) {
  const RuleIds ids;
  LoopCounters counters(ids);
  int sampled = 0;
  for (int i = 0; i < 61 * 100; ++i) sampled += counters.SampleThis() ? 1 : 0;
  EXPECT_EQ(sampled, 100);
}

TEST(LoopCountersTest, AShadowDenialCountsAsLetPass) {
  RuleIds ids;
  LoopCounters counters(ids);
  const RuleSeries series = ids.Intern("r", Algorithm::kTokenBucket);
  counters.CountShadowDenial(series);
  MetricsSnapshot snapshot;
  const LoopCounters* const loops[] = {&counters};
  ReadLoops(ids, loops, snapshot);
  ASSERT_EQ(snapshot.requests.size(), 1U);
  EXPECT_EQ(snapshot.requests[0].requests[Allowed::kYes], 1U);
  EXPECT_EQ(snapshot.requests[0].requests[Allowed::kNo], 0U);
  EXPECT_EQ(snapshot.requests[0].shadow_denials, 1U);
}

TEST(LoopCountersTest, OnlyErrorsOfStoresCountAsSuch) {
  const RuleIds ids;
  LoopCounters counters(ids);
  counters.CountStorageError(ErrorCode::kInvalidCost);
  counters.CountStorageError(ErrorCode::kStoreTimeout);
  counters.CountStorageError(ErrorCode::kStoreFull);
  LoopTotals totals;
  counters.AddTo(totals);
  EXPECT_EQ(totals.storage_errors[StoreError::kTimeout], 1U);
  EXPECT_EQ(totals.storage_errors[StoreError::kFull], 1U);
  EXPECT_EQ(totals.storage_errors[StoreError::kUnavailable], 0U);
  EXPECT_EQ(totals.storage_errors[StoreError::kError], 0U);
  EXPECT_EQ(totals.storage_errors[StoreError::kForeignValue], 0U);
}

TEST(LoopCountersTest, AConnectionMayBeClosedOnAnotherLoopThanItWasOpenedOn) {
  const RuleIds ids;
  LoopCounters one(ids);
  LoopCounters other(ids);
  one.ConnectionOpened(Protocol::kResp);
  other.ConnectionClosed(Protocol::kResp);
  LoopTotals totals;
  one.AddTo(totals);
  other.AddTo(totals);
  EXPECT_EQ(totals.connections[Protocol::kResp], 0);
  EXPECT_EQ(totals.accepted[Protocol::kResp], 1U);
}

// Loops count and are told of new rules while somebody reads: what is read never shrinks, and in
// the end nothing is lost.
TEST(LoopCountersTest, ReadersSeeGrowingNumbersWhileLoopsCount) {
  constexpr int kLoops = 3;
  constexpr int kCalls = 20'000;
  constexpr std::uint32_t kRules = 500;
  RuleIds ids(kRules);
  std::vector<std::unique_ptr<LoopCounters>> counters;
  std::vector<const LoopCounters*> loops;
  for (int i = 0; i < kLoops; ++i) {
    loops.push_back(counters.emplace_back(std::make_unique<LoopCounters>(ids)).get());
  }

  std::atomic<int> running = kLoops;
  std::vector<std::thread> threads;
  for (int i = 0; i < kLoops; ++i) {
    threads.emplace_back([&ids, &running, &mine = *counters[static_cast<std::size_t>(i)]] {
      RuleSeries series;
      for (int call = 0; call < kCalls; ++call) {
        if (call % 40 == 0) {
          series = ids.Intern("rule" + std::to_string(call / 40), Algorithm::kLeakyBucket);
        }
        mine.CountLimit(series, call % 2 == 0 ? Allowed::kYes : Allowed::kNo);
        mine.CountCall(Protocol::kHttp, CallOutcome::kAllowed);
        if (mine.SampleThis()) {
          mine.RecordCheck(Algorithm::kLeakyBucket, Allowed::kYes, std::chrono::microseconds(2));
        }
      }
      --running;
    });
  }

  const auto read = [&] {
    MetricsSnapshot snapshot;
    ReadLoops(ids, loops, snapshot);
    return snapshot;
  };
  std::uint64_t last = 0;
  do {
    const std::uint64_t now = read().loops.calls[Protocol::kHttp][CallOutcome::kAllowed];
    EXPECT_GE(now, last);
    last = now;
  } while (running != 0);
  for (std::thread& thread : threads) thread.join();

  const MetricsSnapshot end = read();
  EXPECT_EQ(end.loops.calls[Protocol::kHttp][CallOutcome::kAllowed],
            std::uint64_t{kLoops} * kCalls);
  ASSERT_EQ(end.requests.size(), kRules);
  for (const RuleTotals& rule : end.requests) {
    EXPECT_EQ(rule.requests[Allowed::kYes], 20U * kLoops) << rule.rule;
    EXPECT_EQ(rule.requests[Allowed::kNo], 20U * kLoops) << rule.rule;
  }
  EXPECT_EQ(end.loops.check_times[Algorithm::kLeakyBucket][Allowed::kYes].count(),
            std::uint64_t{kLoops} * (kCalls / LoopCounters::kSampleEvery));
}

}  // namespace
}  // namespace sluice::telemetry
