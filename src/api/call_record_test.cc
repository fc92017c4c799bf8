#include "api/call_record.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "base/key_hash.h"

namespace sluice::api {
namespace {

using telemetry::DecisionBuffer;
using telemetry::LoopInsight;

constexpr std::size_t kEnough = std::size_t{4} << 20;
constexpr WallTime kCallTime{std::chrono::seconds(1'000'000)};

struct Recorded {
  std::uint64_t records = 0;
  std::uint64_t dropped = 0;
};

// Records so many calls that a list denied.
Recorded Deny(LoopInsight& insight, int calls) {
  limiter::CheckRequest check;
  check.ruling = Ruling::kDenyListed;
  check.allowed = false;
  for (int i = 0; i < calls; ++i) RecordCall(insight, Protocol::kHttp, check, kCallTime, 1);
  const auto buffer = insight.Exchange(std::make_unique<DecisionBuffer>(kEnough));
  Recorded recorded{.dropped = buffer->dropped()};
  buffer->ForEach([&recorded](std::string_view /*bytes*/) { ++recorded.records; });
  return recorded;
}

TEST(CallRecord, AFloodOfDenialsIsRecordedInPart) {
  const KeyHasher hasher;
  LoopInsight insight(hasher, {.record_bytes = kEnough}, 1);
  EXPECT_EQ(Deny(insight, 1000).records, 1000U);
  const Recorded flood = Deny(insight, 19'000);
  EXPECT_EQ(flood.records + flood.dropped, 19'000U);
  EXPECT_GT(flood.records, 1000U);
  EXPECT_LT(flood.records, 10'000U);
}

TEST(CallRecord, ALogOfDenialsGetsAllOfThem) {
  const KeyHasher hasher;
  LoopInsight insight(hasher, {.record_bytes = kEnough, .all_denials = true}, 1);
  EXPECT_EQ(Deny(insight, 20'000).records, 20'000U);
}

}  // namespace
}  // namespace sluice::api
