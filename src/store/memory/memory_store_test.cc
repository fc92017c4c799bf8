#include "store/memory/memory_store.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "store/memory/testing/memory_driver.h"
#include "store/testing/client.h"
#include "store/testing/conformance.h"
#include "store/testing/random_run.h"

namespace sluice::store::testing {
namespace {

using algo::testing::RandomChoices;
using algo::testing::TestSeeds;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Micros kStart = hours(24) * 20'000;

#ifdef SLUICE_SANITIZED
constexpr std::size_t kSlowness = 20;
#else
constexpr std::size_t kSlowness = 1;
#endif

// ---- The same answers as every store

class MemoryStoreConforms : public ::testing::TestWithParam<ConformanceCase> {};

TEST_P(MemoryStoreConforms, To) {
  MemoryDriver driver;
  GetParam().run(driver);
}

TEST_P(MemoryStoreConforms, AlsoWithNames) {
  MemoryDriver driver({.max_keys = 1000, .keep_names = true});
  GetParam().run(driver);
}

INSTANTIATE_TEST_SUITE_P(All, MemoryStoreConforms, ::testing::ValuesIn(ConformanceCases()),
                         NameOfCase);

/// A part of the million steps, so that the parts can run beside each other.
class MemoryStoreAtRandom : public ::testing::TestWithParam<int> {
 protected:
  static constexpr std::size_t kSequences = 2500 / kSlowness;
  static constexpr int kSteps = 100;
};

INSTANTIATE_TEST_SUITE_P(Part, MemoryStoreAtRandom, ::testing::Range(0, 4));

TEST_P(MemoryStoreAtRandom, AgreesWithTheModel) {
  MemoryDriver driver;
  for (const std::uint64_t seed : TestSeeds(kSequences)) {
    RandomChoices choices(seed);
    const auto difference =
        RunAgainstModel(driver, choices, {.steps = kSteps, .scope = std::to_string(seed)});
    ASSERT_FALSE(difference) << "SLUICE_TEST_SEED=" << seed << "\n" << *difference;
  }
}

TEST_P(MemoryStoreAtRandom, AgreesWithTheModelOnCrowdedLogsAndSlots) {
  MemoryDriver driver;
  for (const std::uint64_t seed : TestSeeds(8 / kSlowness + 1)) {
    RandomChoices choices(seed);
    const auto difference = RunAgainstModel(
        driver, choices,
        {.steps = 2500, .scope = std::to_string(seed), .kind = QuestionKind::kCrowded});
    ASSERT_FALSE(difference) << "SLUICE_TEST_SEED=" << seed << "\n" << *difference;
  }
}

// Many keys share a segment here: each that a call adds sweeps cells of the call's other keys.
TEST_P(MemoryStoreAtRandom, AgreesWithTheModelOnCallsOverManyLimits) {
  for (const std::uint64_t seed : TestSeeds(4 / kSlowness + 1)) {
    RandomChoices choices(seed);
    MemoryDriver driver({.max_keys = 1000, .keep_names = choices.OneIn(4)});
    const auto difference = RunAgainstModel(driver, choices,
                                            {.steps = 300,
                                             .scope = "many",
                                             .kind = QuestionKind::kManyKeys,
                                             .may_be_full = choices.OneIn(2)});
    ASSERT_FALSE(difference) << "SLUICE_TEST_SEED=" << seed << "\n" << *difference;
  }
}

TEST_P(MemoryStoreAtRandom, AgreesWithTheModelWhenItIsSmall) {
  for (const std::uint64_t seed : TestSeeds(kSequences / 5)) {
    RandomChoices choices(seed);
    MemoryDriver driver({.max_keys = 4, .keep_names = choices.OneIn(2)});
    const auto difference = RunAgainstModel(driver, choices, {.steps = kSteps, .scope = "small"});
    ASSERT_FALSE(difference) << "SLUICE_TEST_SEED=" << seed << "\n" << *difference;
  }
}

TEST_P(MemoryStoreAtRandom, AnswersABatchLikeOneByOne) {
  MemoryDriver batches;
  MemoryDriver singles;
  for (const std::uint64_t seed : TestSeeds(kSequences / 25)) {
    RandomChoices choices(seed);
    const auto difference = RunBatchesAgainstSingles(
        batches, singles, choices, {.steps = kSteps, .scope = std::to_string(seed)});
    ASSERT_FALSE(difference) << "SLUICE_TEST_SEED=" << seed << "\n" << *difference;
  }
}

/// One call empties the logs of some keys and adds other keys, in a store so small that many of
/// them share a segment, whose other cells each added key sweeps.
TEST(MemoryStore, EmptiesLogsAndAddsKeysInOneCall) {
  constexpr int kRounds = 2000 / static_cast<int>(kSlowness);
  constexpr int kKeysPerCall = 16;
  MemoryDriver driver({.max_keys = 1000});
  Client client(driver, "emptied");
  const Limit log = *Limit::SlidingWindowLog({.limit = 10, .window = hours(1)});
  const Limit bucket = *Limit::TokenBucket({.capacity = 10, .refill = Rate::PerSecond(1)});
  for (int round = 0; round < kRounds; ++round) {
    client.At(kStart + seconds(round));
    std::vector<std::string> names;
    for (int i = 0; i < 2 * kKeysPerCall; ++i) {
      names.push_back(std::to_string(round) + "." + std::to_string(i));
    }
    std::vector<KeyUse> uses;
    for (int i = 0; i < kKeysPerCall; ++i) {
      KeyUse added = client.UseOf(bucket, names[i], 3);
      added.receipt = {.amount = 1, .at = client.now()};
      uses.push_back(added);
      KeyUse emptied = client.UseOf(log, names[kKeysPerCall + i], 0);
      emptied.receipt = client.Check(log, names[kKeysPerCall + i]).receipt;
      uses.push_back(emptied);
    }
    ASSERT_TRUE(client.Run(Operation::kAdjust, uses).ok) << round;
    for (int i = 0; i < kKeysPerCall; ++i) {
      ASSERT_EQ(client.Peek(bucket, names[i], 0).verdict.remaining, 8) << round;
      ASSERT_EQ(client.Peek(log, names[kKeysPerCall + i], 0).verdict.remaining, 10) << round;
    }
  }
}

TEST(MemoryStore, DoesNotGrantLeases) {
  MemoryDriver driver;
  const Limit limit = *Limit::FixedWindow({.limit = 100, .window = hours(1)});
  for (const Operation operation : {Operation::kFetch, Operation::kReturn}) {
    Lending lending;
    KeyUse use;
    use.limit = &limit;
    use.lending = &lending;
    StoreCall call{.operation = operation, .uses = {&use, 1}, .now = WallTime{kStart}};
    driver.Run(call);
    EXPECT_FALSE(call.ok);
    EXPECT_EQ(call.error, ErrorCode::kNotSupported);
  }
}

// ---- Threads

/// Runs `work` on several threads at once, with the number of the thread.
template <typename Work>
void OnThreads(int count, Work work) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
}

constexpr int kThreads = 4;

std::vector<Limit> OneOfEachKind(std::int64_t limit) {
  return {Limit::TokenBucket({.capacity = limit, .refill = Rate::PerHour(1)}).value(),
          Limit::LeakyBucket({.capacity = limit, .leak = Rate::PerHour(1)}).value(),
          Limit::FixedWindow({.limit = limit, .window = hours(1)}).value(),
          Limit::SlidingWindowLog({.limit = limit, .window = hours(1)}).value(),
          Limit::SlidingWindowCounter({.limit = limit, .window = hours(1)}).value(),
          Limit::Concurrency({.limit = limit, .time_to_live = hours(1)}).value()};
}

TEST(MemoryStoreThreads, AdmitExactlyTheLimitTogether) {
  constexpr std::int64_t kLimit = 2000;
  MemoryDriver driver;
  for (const Limit& limit : OneOfEachKind(kLimit)) {
    std::atomic<std::int64_t> admitted{0};
    OnThreads(kThreads, [&](int) {
      Client client(driver, AlgorithmName(limit.algorithm()));
      client.At(kStart);
      for (std::int64_t i = 0; i < kLimit; ++i) {
        if (client.Check(limit, "shared").verdict.outcome == Outcome::kAllowed) ++admitted;
      }
    });
    EXPECT_EQ(admitted, kLimit) << AlgorithmName(limit.algorithm());
  }
}

TEST(MemoryStoreThreads, AdmitExactlyTheRefillWhileTimePasses) {
  constexpr std::int64_t kCap = 100;
  constexpr std::int64_t kMicros = 100'000;
  MemoryDriver driver;
  const Limit limit =
      Limit::TokenBucket({.capacity = kCap, .refill = Rate::Per(1, Micros{7})}).value();
  std::atomic<std::int64_t> clock{0};
  std::atomic<std::int64_t> admitted{0};
  const auto check_at = [&](Client& client, std::int64_t micros) {
    client.At(kStart + Micros{micros});
    return client.Check(limit, "k").verdict.outcome == Outcome::kAllowed;
  };
  OnThreads(kThreads, [&](int) {
    Client client(driver, "time goes on");
    for (std::int64_t now = ++clock; now <= kMicros; now = ++clock) {
      if (check_at(client, now)) ++admitted;
    }
  });
  Client client(driver, "time goes on");
  while (check_at(client, kMicros)) ++admitted;
  // Nothing refills before the first call, which comes a microsecond after the start.
  const std::int64_t least = kCap + (kMicros - kThreads) / 7;
  const std::int64_t most = kCap + kMicros / 7;
  EXPECT_GE(admitted, least);
  EXPECT_LE(admitted, most);
}

TEST(MemoryStoreThreads, TakeFromAllLimitsOrNoneInAnyOrder) {
  constexpr std::int64_t kTight = 700;
  MemoryDriver driver;
  const Limit wide = Limit::FixedWindow({.limit = 1000, .window = hours(1)}).value();
  const Limit tight = Limit::FixedWindow({.limit = kTight, .window = hours(1)}).value();
  std::atomic<std::int64_t> admitted{0};
  OnThreads(kThreads, [&](int thread) {
    Client client(driver, "several");
    client.At(kStart);
    for (int i = 0; i < 500; ++i) {
      std::vector<KeyUse> uses = {client.UseOf(wide, "wide"), client.UseOf(tight, "tight")};
      if (thread % 2 == 1) std::swap(uses[0], uses[1]);
      if (client.CheckAll(uses)) ++admitted;
    }
  });
  Client client(driver, "several");
  client.At(kStart);
  EXPECT_EQ(admitted, kTight);
  EXPECT_EQ(client.Peek(wide, "wide", 0).verdict.remaining, 1000 - kTight);
}

TEST(MemoryStoreThreads, AdmitExactlyOnManyKeysWhileTheTableGrows) {
  constexpr int kKeys = 50'000 / static_cast<int>(kSlowness);
  MemoryDriver driver;
  const Limit limit = Limit::FixedWindow({.limit = kThreads - 1, .window = hours(1)}).value();
  std::atomic<std::int64_t> admitted{0};
  OnThreads(kThreads, [&](int) {
    Client client(driver, "many");
    client.At(kStart);
    for (int i = 0; i < kKeys; ++i) {
      const std::string name = std::to_string(i);
      if (client.Check(limit, name).verdict.outcome == Outcome::kAllowed) ++admitted;
    }
  });
  EXPECT_EQ(admitted, std::int64_t{kKeys} * (kThreads - 1));
  EXPECT_EQ(driver.store().StatsApprox().keys, static_cast<std::size_t>(kKeys));
}

// ---- A full store

/// One check by itself, which may be refused.
StoreCall TryCheck(Driver& driver, const Limit& limit, std::string_view name, Micros at,
                   KeyUse& use) {
  use = KeyUse{};
  use.key = {.scope = "full", .tag = name, .rest = {}};
  use.limit = &limit;
  StoreCall call;
  call.uses = {&use, 1};
  call.now = WallTime{at};
  driver.Run(call);
  return call;
}

TEST(AFullMemoryStore, NeverForgetsAnExhaustedKey) {
  constexpr int kKeys = 1000;
  MemoryDriver driver({.max_keys = kKeys});
  const Limit limit = Limit::FixedWindow({.limit = 1, .anchor = Anchor::kDay}).value();
  KeyUse use;
  for (int i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(TryCheck(driver, limit, "old" + std::to_string(i), kStart, use).ok) << i;
  }
  for (int i = 0; i < 10 * kKeys; ++i) {
    const StoreCall call =
        TryCheck(driver, limit, "new" + std::to_string(i), kStart + seconds(1), use);
    ASSERT_FALSE(call.ok);
    ASSERT_EQ(call.error, ErrorCode::kStoreFull);
  }
  EXPECT_EQ(driver.store().StatsApprox().refused, 10u * kKeys);
  for (int i = 0; i < kKeys; ++i) {
    const StoreCall call =
        TryCheck(driver, limit, "old" + std::to_string(i), kStart + seconds(2), use);
    ASSERT_TRUE(call.ok);
    ASSERT_FALSE(call.allowed) << i;
  }
  EXPECT_EQ(driver.store().StatsApprox().keys, static_cast<std::size_t>(kKeys));
}

TEST(AFullMemoryStore, DropsFreshKeysFirst) {
  constexpr int kKeys = 1000;
  MemoryDriver driver({.max_keys = kKeys});
  const Limit brief = Limit::TokenBucket({.capacity = 1, .refill = Rate::PerSecond(1)}).value();
  const Limit daily = Limit::FixedWindow({.limit = 1, .anchor = Anchor::kDay}).value();
  KeyUse use;
  for (int i = 0; i < kKeys; ++i) {
    const std::string name = "old" + std::to_string(i);
    ASSERT_TRUE(TryCheck(driver, i % 2 == 0 ? brief : daily, name, kStart, use).ok) << i;
  }
  int accepted = 0;
  for (int i = 0; i < kKeys; ++i) {
    const std::string name = "new" + std::to_string(i);
    if (TryCheck(driver, daily, name, kStart + seconds(2), use).ok) ++accepted;
  }
  EXPECT_EQ(accepted, kKeys / 2);
  for (int i = 1; i < kKeys; i += 2) {
    const std::string name = "old" + std::to_string(i);
    ASSERT_FALSE(TryCheck(driver, daily, name, kStart + seconds(3), use).allowed) << i;
  }
}

/// A key with a grant is live for ever; without it this one is as if never used.
TEST(AFullMemoryStore, ForgetsAKeyWhoseGrantIsUsedUp) {
  MemoryDriver driver({.max_keys = 1});
  Client client(driver, "full");
  const Limit limit = Limit::TokenBucket({.capacity = 5, .refill = Rate::PerHour(1)}).value();
  KeyUse use;
  client.At(kStart).Grant(limit, "old", 5);
  ASSERT_FALSE(TryCheck(driver, limit, "new", kStart, use).ok);
  client.Check(limit, "old", 5);
  EXPECT_TRUE(TryCheck(driver, limit, "new", kStart, use).ok);
}

TEST(AFullMemoryStore, FailsAWholeCallAndConsumesNothing) {
  MemoryDriver driver({.max_keys = 1});
  Client client(driver, "whole");
  const Limit limit = Limit::FixedWindow({.limit = 5, .anchor = Anchor::kDay}).value();
  client.At(kStart).Check(limit, "old");
  std::vector<KeyUse> uses = {client.UseOf(limit, "old"), client.UseOf(limit, "new")};
  const StoreCall call = client.Run(Operation::kCheck, uses);
  EXPECT_FALSE(call.ok);
  EXPECT_EQ(call.error, ErrorCode::kStoreFull);
  EXPECT_EQ(client.Peek(limit, "old", 0).verdict.remaining, 4);
  EXPECT_EQ(client.Peek(limit, "new", 0).verdict.remaining, 5);
}

TEST(AFullMemoryStore, AcceptsNoKeyBeyondItsMaximumBytes) {
  constexpr std::size_t kCeiling = 4 << 20;
  MemoryDriver driver({.max_keys = 1'000'000, .max_bytes = kCeiling});
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value();
  KeyUse use;
  for (int i = 0; i < 200'000; ++i) {
    TryCheck(driver, limit, std::to_string(i), kStart, use);
    ASSERT_LE(driver.store().StatsApprox().bytes, kCeiling) << i;
  }
  EXPECT_GT(driver.store().StatsApprox().refused, 0u);
}

TEST(AFullMemoryStore, RejectsSettlementsBeyondItsMaximumBytesAndRefundsNothing) {
  constexpr std::size_t kCeiling = 1 << 20;
  MemoryDriver driver({.max_keys = 1000, .max_bytes = kCeiling});
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value();
  Client client(driver, "settled");
  const Receipt receipt = client.At(kStart).Check(limit, "k", 10).receipt;
  bool refused = false;
  for (std::uint64_t i = 1; i <= 100'000 && !refused; ++i) {
    client.Check(limit, "k", 1);
    Settlement settlement{.receipt = i, .expires = WallTime{kStart + seconds(60)}};
    std::vector<KeyUse> uses = {client.UseOf(limit, "k", 9)};
    uses[0].receipt = receipt;
    uses[0].settlement = &settlement;
    const StoreCall call = client.Run(Operation::kAdjust, uses);
    ASSERT_LE(driver.store().StatsApprox().bytes, kCeiling) << i;
    refused = !call.ok;
    if (!refused) continue;
    EXPECT_EQ(call.error, ErrorCode::kStoreFull);
    EXPECT_TRUE(uses[0].no_room) << "the call names the key";
    EXPECT_EQ(client.Peek(limit, "k", 0).verdict.remaining, 0);
  }
  EXPECT_TRUE(refused);
}

TEST(AFullMemoryStore, SettlementsOfLimitsInRequestsUseOnlyTheirShare) {
  MemoryDriver driver({.max_keys = 1000});
  const std::size_t most = driver.store().StatsApprox().max_caller_bytes;
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value();
  Client client(driver, "settled");
  client.At(kStart);
  const auto settle = [&](KeyKind kind, std::uint64_t receipt) {
    Settlement settlement{.receipt = receipt, .expires = WallTime{kStart + seconds(60)}};
    std::vector<KeyUse> uses = {
        client.UseOf(limit, kind == KeyKind::kFromCaller ? "own" : "rule", 0)};
    uses[0].kind = kind;
    uses[0].receipt = {.amount = 1};
    uses[0].settlement = &settlement;
    const StoreCall call = client.Run(Operation::kAdjust, uses);
    EXPECT_TRUE(call.ok || call.error == ErrorCode::kStoreFull);
    return call.ok;
  };
  std::uint64_t receipt = 0;
  while (receipt < 50'000 && settle(KeyKind::kFromCaller, ++receipt)) {
    ASSERT_LE(driver.store().StatsApprox().caller_bytes, most);
  }
  EXPECT_LT(receipt, 50'000U);
  EXPECT_TRUE(settle(KeyKind::kOrdinary, 1)) << "rules have the rest";
}

TEST(AMemoryStore, ForgetsSettlementsThatExpiredWhileOthersAreMade) {
  MemoryDriver driver({.max_keys = 1000});
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value();
  Client client(driver, "settled");
  constexpr int kSettled = 20'000;
  std::size_t most = 0;
  for (int i = 1; i <= 10 * kSettled; ++i) {
    client.At(kStart + milliseconds(i));
    const std::string name = "k" + std::to_string(i % 500);
    Settlement settlement{.receipt = static_cast<std::uint64_t>(i),
                          .expires = client.now() + milliseconds(kSettled)};
    client.Settle(limit, name, Receipt{.amount = 1}, 0, settlement);
    const std::size_t bytes = driver.store().StatsApprox().bytes;
    if (i == 2 * kSettled) most = bytes;
    ASSERT_TRUE(i <= 2 * kSettled || bytes <= most + most / 2) << i << ": " << bytes;
  }
}

/// Idle keys are the first to go, but not while a call is about to use them.
TEST(AFullMemoryStore, KeepsTheIdleKeysOfTheCallThatNeedsRoom) {
  constexpr int kPairs = 1000;
  MemoryDriver driver({.max_keys = std::size_t{2 * kPairs}});
  const Limit limit = Limit::SlidingWindowLog({.limit = 1, .window = seconds(1)}).value();
  Client client(driver, "pairs");
  client.At(kStart);
  for (int i = 0; i < 2 * kPairs; ++i) client.Check(limit, "old" + std::to_string(i));
  client.At(kStart + seconds(2));
  for (int i = 0; i < kPairs; ++i) {
    const std::string fresh = "new" + std::to_string(i);
    const std::string idle = "old" + std::to_string(i);
    std::vector<KeyUse> uses = {client.UseOf(limit, fresh), client.UseOf(limit, idle)};
    ASSERT_TRUE(client.CheckAll(uses)) << i;
    ASSERT_EQ(client.Check(limit, fresh).verdict.outcome, Outcome::kDenied) << i;
    ASSERT_EQ(client.Check(limit, idle).verdict.outcome, Outcome::kDenied) << i;
  }
}

TEST(AMemoryStore, KeepsTheIdleKeysOfACallThatAddsOthers) {
  constexpr int kPairs = 64;
  MemoryDriver driver({.max_keys = 1000});
  const Limit limit = Limit::SlidingWindowLog({.limit = 1, .window = seconds(1)}).value();
  Client client(driver, "pairs");
  std::vector<std::string> names;
  for (int i = 0; i < 2 * kPairs; ++i) names.push_back(std::to_string(i));
  client.At(kStart);
  for (int i = 0; i < kPairs; ++i) client.Check(limit, names[2 * i + 1]);
  client.At(kStart + seconds(2));
  std::vector<KeyUse> uses;
  for (const std::string& name : names) uses.push_back(client.UseOf(limit, name));
  EXPECT_TRUE(client.CheckAll(uses));
  for (const std::string& name : names) {
    EXPECT_EQ(client.Check(limit, name).verdict.outcome, Outcome::kDenied) << name;
  }
}

// ---- Memory

TEST(AGrowingMemoryStore, StaysBelowFiftyBytesAKey) {
  constexpr std::size_t kKeys = 200'000;
  MemoryDriver driver({.max_keys = kKeys});
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value();
  KeyUse use;
  for (std::size_t i = 0; i < kKeys; ++i) {
    ASSERT_TRUE(TryCheck(driver, limit, std::to_string(i), kStart, use).ok) << i;
    const MemoryStoreStats stats = driver.store().StatsApprox();
    ASSERT_EQ(stats.keys, i + 1);
    if (stats.keys > 100'000) {
      ASSERT_LE(stats.bytes, 50 * stats.keys) << stats.keys;
    }
  }
}

TEST(AMemoryStore, DropsExpiredKeysByItself) {
  constexpr int kKeys = 50'000;
  MemoryDriver driver({.max_keys = 1'000'000});
  const Limit limit = Limit::TokenBucket({.capacity = 1, .refill = Rate::PerSecond(1)}).value();
  KeyUse use;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kKeys; ++i) {
      const std::string name = std::to_string(round) + ":" + std::to_string(i);
      ASSERT_TRUE(TryCheck(driver, limit, name, kStart + seconds(2) * round, use).ok);
    }
  }
  const MemoryStoreStats stats = driver.store().StatsApprox();
  EXPECT_LE(stats.keys, 2u * kKeys);
  EXPECT_EQ(stats.keys + stats.expired, 10u * kKeys);
}

TEST(AMemoryStore, DropsExpiredKeysInCallsWithSeveralLimits) {
  constexpr int kKeys = 10'000;
  MemoryDriver driver({.max_keys = kKeys});
  const Limit brief = Limit::TokenBucket({.capacity = 1, .refill = Rate::PerSecond(1)}).value();
  const Limit daily = Limit::FixedWindow({.limit = kMaxAmount, .anchor = Anchor::kDay}).value();
  KeyUse use;
  for (int i = 0; i < kKeys / 2; ++i) {
    ASSERT_TRUE(TryCheck(driver, brief, "brief" + std::to_string(i), kStart, use).ok);
  }
  Client client(driver, "several");
  client.At(kStart + seconds(2));
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kMaxLimitsPerCall; ++i) names.push_back(std::to_string(i));
  std::vector<KeyUse> uses;
  for (const std::string& name : names) uses.push_back(client.UseOf(daily, name));
  for (int i = 0; i < 3000; ++i) client.CheckAll(uses);
  // Segments in which no call has a key are not swept.
  EXPECT_LE(driver.store().StatsApprox().keys, std::size_t{kKeys / 4});
}

TEST(AMemoryStore, ReleasesTheMemoryOfResetKeys) {
  constexpr int kKeys = 50'000;
  MemoryDriver driver({.max_keys = kKeys});
  const std::size_t bytes_before = driver.store().StatsApprox().bytes;
  Client client(driver, "reset");
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerHour(1)}).value();
  client.At(kStart);
  for (int i = 0; i < kKeys; ++i) client.Check(limit, std::to_string(i));
  for (int i = 0; i < kKeys; ++i) client.Reset(limit, std::to_string(i));
  const MemoryStoreStats stats = driver.store().StatsApprox();
  EXPECT_EQ(stats.keys, 0U);
  // A segment keeps its last page.
  EXPECT_LE(stats.bytes - bytes_before, std::size_t{500'000});
}

TEST(AMemoryStore, WalksOverActiveKeys) {
  MemoryDriver driver({.max_keys = 1000, .keep_names = true});
  Client client(driver, "rule:limit");
  const Limit limit = Limit::TokenBucket({.capacity = 10, .refill = Rate::PerSecond(1)}).value();
  client.At(kStart).Check(limit, "soon over", 1);
  client.Check(limit, "still live", 10);
  client.Check(limit, "never used", 0);
  std::vector<std::string> names;
  driver.store().Walk(WallTime{kStart + seconds(1)}, [&](const KeyState& key) {
    names.push_back(key.name);
    EXPECT_EQ(key.verdict.remaining, 1);
    EXPECT_TRUE(key.inspection.live);
    return true;
  });
  EXPECT_EQ(names, std::vector<std::string>{"{still%20live}:rule:limit:"});
}

TEST(AMemoryStore, RejectsInvalidOptions) {
  EXPECT_EQ(MemoryStore::Create({.max_keys = 0}).error().code, ErrorCode::kInvalidOptions);
  EXPECT_EQ(MemoryStore::Create({.max_keys = 1000, .max_bytes = 1}).error().code,
            ErrorCode::kInvalidOptions);
}

}  // namespace
}  // namespace sluice::store::testing
