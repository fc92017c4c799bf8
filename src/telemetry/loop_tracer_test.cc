#include "telemetry/loop_tracer.h"

#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace sluice::telemetry {
namespace {

using std::chrono::seconds;

SpanRecord Ordinary(seconds at) { return {.begin = at, .end = at}; }
SpanRecord Degraded(seconds at) { return {.begin = at, .end = at, .degraded = true}; }

int SampledOf(TraceSampler sampler, double ratio, TraceContext context, int calls) {
  SpanBudget budget(0);
  LoopTracer tracer({.sampler = sampler, .ratio = ratio}, budget, 7);
  int sampled = 0;
  for (int i = 0; i < calls; ++i) {
    TraceContext own = context;
    tracer.Begin(own);
    sampled += own.is_sampled ? 1 : 0;
  }
  return sampled;
}

constexpr TraceContext kSampled{
    .trace_high = 1, .trace_low = 0xffff'ffff'ffff'ffff, .parent = 3, .is_sampled = true};
constexpr TraceContext kUnsampled{.trace_high = 1, .trace_low = 2, .parent = 3};

TEST(LoopTracerTest, AParentBasedSamplerDoesAsTheCallerDoes) {
  for (const TraceSampler sampler : {TraceSampler::kParentAlwaysOn, TraceSampler::kParentAlwaysOff,
                                     TraceSampler::kParentRatio}) {
    EXPECT_EQ(SampledOf(sampler, 0.5, kSampled, 100), 100);
    EXPECT_EQ(SampledOf(sampler, 0.5, kUnsampled, 100), 0);
  }
  EXPECT_EQ(SampledOf(TraceSampler::kParentAlwaysOn, 0, {}, 100), 100);
  EXPECT_EQ(SampledOf(TraceSampler::kParentAlwaysOff, 1, {}, 100), 0);
}

TEST(LoopTracerTest, OtherSamplersIgnoreTheCallersFlag) {
  EXPECT_EQ(SampledOf(TraceSampler::kAlwaysOn, 0, kUnsampled, 10), 10);
  EXPECT_EQ(SampledOf(TraceSampler::kAlwaysOff, 1, kSampled, 10), 0);
  // By the trace id alone.
  EXPECT_EQ(SampledOf(TraceSampler::kRatio, 0.5, kSampled, 10), 0);
  EXPECT_EQ(SampledOf(TraceSampler::kRatio, 0.5, kUnsampled, 10), 10);
}

TEST(LoopTracerTest, ARatioIsThatShareOfTheCalls) {
  EXPECT_EQ(SampledOf(TraceSampler::kParentRatio, 0, {}, 10'000), 0);
  EXPECT_EQ(SampledOf(TraceSampler::kParentRatio, 1, {}, 10'000), 10'000);
  EXPECT_NEAR(SampledOf(TraceSampler::kParentRatio, 0.1, {}, 100'000), 10'000, 1'000);
}

TEST(LoopTracerTest, EverySpanHasIdsOfItsOwn) {
  SpanBudget budget(1000);
  LoopTracer tracer({}, budget, 1);
  for (int i = 0; i < 100; ++i) tracer.Record(Ordinary(seconds(1)), /*has_store_span=*/true);
  SpanRecord child = Ordinary(seconds(1));
  child.context = kSampled;
  tracer.Record(child, false);
  ASSERT_TRUE(tracer.has_spans());
  const auto spans = tracer.Exchange(std::make_unique<SpanBuffer>());
  EXPECT_FALSE(tracer.has_spans());
  std::set<std::uint64_t> ids;
  for (const SpanRecord& span : spans->records()) {
    EXPECT_NE(span.context.trace_high | span.context.trace_low, 0U);
    ids.insert({span.id, span.store_id});
  }
  EXPECT_EQ(ids.size(), 202U);  // The last has no store span, whose id is 0.
  EXPECT_EQ(spans->records().back().context, kSampled);
}

TEST(SpanBufferTest, ABudgetIsOfOneSecondAndOfAllSpans) {
  SpanBudget budget(3);
  SpanBuffer buffer;
  SpanRecord two = Ordinary(seconds(5));
  two.store_id = 1;
  buffer.Add(two, budget);
  buffer.Add(two, budget);  // Would be four.
  buffer.Add(Ordinary(seconds(5)), budget);
  buffer.Add(Ordinary(seconds(5)), budget);
  EXPECT_EQ(buffer.records().size(), 2U);
  EXPECT_EQ(buffer.dropped(), 3U);
  buffer.Add(Ordinary(seconds(6)), budget);
  EXPECT_EQ(buffer.records().size(), 3U);
}

TEST(SpanBufferTest, DegradedAndSlowCallsTakeThePlaceOfOthers) {
  SpanBudget budget(4);
  SpanBuffer buffer;
  for (int i = 0; i < 4; ++i) buffer.Add(Ordinary(seconds(1)), budget);
  for (int i = 0; i < 6; ++i) buffer.Add(Degraded(seconds(1)), budget);
  ASSERT_EQ(buffer.records().size(), 4U);
  for (const SpanRecord& span : buffer.records()) EXPECT_TRUE(span.degraded);
  EXPECT_EQ(buffer.dropped(), 6U);
}

TEST(SpanBufferTest, AStoreSpanDoesNotExceedTheBudgetByTakingAPlace) {
  SpanBudget budget(1);
  SpanBuffer buffer;
  buffer.Add(Ordinary(seconds(1)), budget);
  SpanRecord slow = Degraded(seconds(1));
  slow.store_id = 9;
  buffer.Add(slow, budget);
  ASSERT_EQ(buffer.records().size(), 1U);
  EXPECT_TRUE(buffer.records()[0].degraded);
  EXPECT_EQ(buffer.records()[0].spans(), 1U);
}

TEST(SpanBufferTest, MemoryIsBoundedWhateverTheBudget) {
  SpanBudget budget(1'000'000);
  SpanBuffer buffer;
  for (std::size_t i = 0; i < 2 * SpanBuffer::kCapacity; ++i) {
    buffer.Add(Ordinary(seconds(1)), budget);
  }
  EXPECT_EQ(buffer.records().size(), SpanBuffer::kCapacity);
  EXPECT_EQ(buffer.dropped(), SpanBuffer::kCapacity);
}

TEST(SpanBufferTest, LongTextsAreCut) {
  EXPECT_EQ(SpanText(std::string(1000, 'r')).view(), std::string(63, 'r'));
  EXPECT_EQ(SpanText(std::string(62, 'r') + "\u00e9").view(), std::string(62, 'r'));
  EXPECT_EQ(SpanText("rule").view(), "rule");
}

TEST(SpanBudgetTest, LoopsThatAreLateDoNotRenewIt) {
  SpanBudget budget(2);
  EXPECT_TRUE(budget.Take(seconds(10), 1));
  EXPECT_TRUE(budget.Take(seconds(11), 1));
  EXPECT_TRUE(budget.Take(seconds(10), 1));
  EXPECT_FALSE(budget.Take(seconds(11), 1));
  EXPECT_FALSE(budget.HasRoom(seconds(10)));
  EXPECT_TRUE(budget.HasRoom(seconds(12)));
  EXPECT_TRUE(budget.Take(seconds(1), 1));  // The clock was set back.
}

TEST(SpanBudgetTest, ThreadsShareIt) {
  SpanBudget budget(1000);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 1000; ++call) taken += budget.Take(seconds(1), 1) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(taken.load(), 1000);
}

}  // namespace
}  // namespace sluice::telemetry
