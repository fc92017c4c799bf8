#include "telemetry/decision_record.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/key_hash.h"
#include "telemetry/decision_ring.h"
#include "telemetry/loop_insight.h"

namespace sluice::telemetry {
namespace {

DecisionRecord Example() {
  static const std::vector<Attribute> attributes = {{"api_key", "alice"}, {"endpoint", "/search"}};
  return {.time = WallTime{std::chrono::seconds(1'700'000'000)},
          .degraded = true,
          .is_secret = true,
          .protocol = 2,
          .outcome = 1,
          .rules = 7,
          .cap = 100,
          .remaining = 3,
          .cost = 5,
          .wait = std::chrono::milliseconds(250),
          .rule = "search",
          .limit = "100 per minute",
          .tag = "alice",
          .rest = "x:y",
          .attributes = attributes};
}

TEST(DecisionRecord, IsReadAsItWasWritten) {
  DecisionBuffer buffer(64 << 10);
  ASSERT_TRUE(buffer.Append(Example()));
  ASSERT_TRUE(buffer.Append(Example()));
  int visited = 0;
  buffer.ForEach([&](std::string_view bytes) {
    ++visited;
    ReadDecision read;
    ReadRecord(bytes, read);
    const DecisionRecord expected = Example();
    EXPECT_EQ(read.record.time, expected.time);
    EXPECT_EQ(read.record.degraded, expected.degraded);
    EXPECT_EQ(read.record.is_secret, expected.is_secret);
    EXPECT_EQ(read.record.protocol, expected.protocol);
    EXPECT_EQ(read.record.outcome, expected.outcome);
    EXPECT_EQ(read.record.rules, expected.rules);
    EXPECT_EQ(read.record.cap, expected.cap);
    EXPECT_EQ(read.record.remaining, expected.remaining);
    EXPECT_EQ(read.record.cost, expected.cost);
    EXPECT_EQ(read.record.wait, expected.wait);
    EXPECT_EQ(read.record.rule, expected.rule);
    EXPECT_EQ(read.record.limit, expected.limit);
    EXPECT_EQ(read.record.tag, expected.tag);
    EXPECT_EQ(read.record.rest, expected.rest);
    ASSERT_EQ(read.record.attributes.size(), 2U);
    EXPECT_EQ(read.record.attributes[1].name, "endpoint");
    EXPECT_EQ(read.record.attributes[1].value, "/search");
  });
  EXPECT_EQ(visited, 2);
}

TEST(DecisionRecord, LongTextsAreCutAndARecordIsBounded) {
  const std::string text(4096, 'x');
  const std::vector<Attribute> attributes(40, {.name = text, .value = text});
  DecisionRecord record = Example();
  record.rule = record.limit = record.tag = record.rest = text;
  record.attributes = attributes;
  DecisionBuffer buffer(64 << 10);
  ASSERT_TRUE(buffer.Append(record));
  buffer.ForEach([&](std::string_view bytes) {
    EXPECT_LE(bytes.size(), DecisionBuffer::kMaxRecordBytes);
    ReadDecision read;
    ReadRecord(bytes, read);
    EXPECT_FALSE(read.record.tag.empty());
  });
}

TEST(DecisionRecord, AFullBufferDropsAndCounts) {
  DecisionBuffer buffer(4 * DecisionBuffer::kMaxRecordBytes);
  std::uint64_t appended = 0;
  for (int i = 0; i < 100; ++i) appended += buffer.Append(Example()) ? 1 : 0;
  EXPECT_GT(appended, 2U);
  EXPECT_EQ(buffer.dropped(), 100 - appended);
  EXPECT_TRUE(buffer.DropIfFull());
  EXPECT_EQ(buffer.dropped(), 101 - appended);
  buffer.Clear();
  EXPECT_TRUE(buffer.empty());
  EXPECT_FALSE(buffer.DropIfFull());
  EXPECT_EQ(buffer.dropped(), 0U);
}

TEST(DecisionRing, KeepsTheLastTenThousand) {
  DecisionRing ring;
  for (std::size_t i = 1; i <= DecisionRing::kRecords + 5; ++i) ring.Append(std::to_string(i));
  EXPECT_EQ(ring.entries().size(), DecisionRing::kRecords);
  EXPECT_EQ(ring.entries().front().sequence, 6U);
  EXPECT_EQ(ring.entries().back().bytes, std::to_string(ring.last()));
}

TEST(LoopInsight, WhatWasRecordedIsTakenByAnExchange) {
  const KeyHasher hasher;
  LoopInsight insight(hasher, {}, 1);
  EXPECT_FALSE(insight.has_counts());
  EXPECT_FALSE(insight.has_records());
  insight.CountDenied({.rule = "search", .tag = "alice", .utilization = 1}, insight.SampleDenied());
  insight.CountAllowed({.rule = "search", .tag = "bob", .cost = 5}, insight.SampleAllowed());
  insight.Record(Example());
  EXPECT_TRUE(insight.has_counts());
  EXPECT_TRUE(insight.has_records());
  const auto sketches = insight.Exchange(std::make_unique<ConsumerSketches>());
  const auto records = insight.Exchange(std::make_unique<DecisionBuffer>(64 << 10));
  EXPECT_FALSE(insight.has_counts());
  EXPECT_FALSE(insight.has_records());
  ASSERT_EQ(sketches->Of(TopDimension::kDenied).counters().size(), 1U);
  EXPECT_EQ(sketches->Of(TopDimension::kDenied).text(0).key(), "alice");
  ASSERT_EQ(sketches->Of(TopDimension::kCost).counters().size(), 1U);
  EXPECT_EQ(sketches->Of(TopDimension::kCost).counters()[0].count, 5U);
  EXPECT_FALSE(records->empty());
}

std::map<std::string, std::uint64_t> CountsOf(const SpaceSaving& sketch) {
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t i = 0; i < sketch.counters().size(); ++i) {
    counts.emplace(sketch.text(i).key(), sketch.counters()[i].count);
  }
  return counts;
}

TEST(LoopInsight, CostsAreTheAllowedCallsUntilACallCostsSomethingElse) {
  const KeyHasher hasher;
  LoopInsight insight(hasher, {}, 1);
  const auto count = [&insight](std::string_view key, std::uint64_t cost) {
    insight.CountAllowed({.rule = "search", .tag = key, .cost = cost}, insight.SampleAllowed());
  };
  using Counts = std::map<std::string, std::uint64_t>;
  count("alice", 1);
  count("alice", 1);
  auto sketches = insight.Exchange(std::make_unique<ConsumerSketches>());
  EXPECT_EQ(CountsOf(sketches->Of(TopDimension::kCost)), (Counts{{"alice", 2}}));
  sketches->Clear();

  static_cast<void>(insight.Exchange(std::move(sketches)));
  count("alice", 1);
  count("bob", 5);
  count("carol", 0);
  count("alice", 1);
  sketches = insight.Exchange(std::make_unique<ConsumerSketches>());
  EXPECT_EQ(CountsOf(sketches->Of(TopDimension::kAllowed)),
            (Counts{{"alice", 2}, {"bob", 1}, {"carol", 1}}));
  EXPECT_EQ(CountsOf(sketches->Of(TopDimension::kCost)), (Counts{{"alice", 2}, {"bob", 5}}));
  sketches->Clear();

  static_cast<void>(insight.Exchange(std::move(sketches)));
  count("dora", 1);
  sketches = insight.Exchange(std::make_unique<ConsumerSketches>());
  EXPECT_EQ(CountsOf(sketches->Of(TopDimension::kCost)), (Counts{{"dora", 1}}));
}

}  // namespace
}  // namespace sluice::telemetry
