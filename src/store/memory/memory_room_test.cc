#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"
#include "store/memory/memory_store.h"
#include "store/memory/testing/memory_driver.h"
#include "store/testing/client.h"
#include "store/testing/random_run.h"

/// Ceilings: of bytes for everything, of what callers' limits may occupy, and what is kept.
namespace sluice::store::testing {
namespace {

using algo::testing::RandomChoices;
using algo::testing::TestSeeds;
using std::chrono::hours;
using std::chrono::seconds;

constexpr Micros kRoomStart = hours(24) * 20'000;
constexpr std::size_t kTenMegabytes = 10'000'000;

const Limit kHourly = *Limit::FixedWindow({.limit = 5, .window = hours(1)});

/// One check; the call may fail.
StoreCall TryCheck(MemoryDriver& driver, KeyUse& use, Micros at) {
  StoreCall call;
  call.uses = {&use, 1};
  call.now = WallTime{at};
  driver.Run(call);
  return call;
}

KeyUse UseOf(const Limit& limit, std::string_view name, KeyKind kind = KeyKind::kOrdinary) {
  KeyUse use;
  use.key = {.scope = "room", .tag = name, .rest = {}};
  use.limit = &limit;
  use.kind = kind;
  return use;
}

/// Calls of a few keys, more than the ceiling has bytes for. Returns how many had no room.
int FillHistories(MemoryDriver& driver, const Limit& limit, int keys, int rounds) {
  std::vector<std::int64_t> taken(static_cast<std::size_t>(keys));
  std::vector<std::string> names;
  for (int i = 0; i < keys; ++i) names.push_back(std::to_string(i));
  int refused = 0;
  Micros at = kRoomStart;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      KeyUse use = UseOf(limit, names[i]);
      const StoreCall call = TryCheck(driver, use, at += Micros{1});
      if (call.ok) {
        EXPECT_TRUE(call.allowed);
        ++taken[i];
      } else {
        EXPECT_EQ(call.error, ErrorCode::kStoreFull);
        EXPECT_TRUE(use.no_room);
        ++refused;
      }
    }
    EXPECT_LE(driver.store().StatsApprox().bytes, kTenMegabytes) << round;
  }
  Client client(driver, "room");
  client.At(at);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(client.Peek(limit, names[i], 0).verdict.remaining, limit.cap() - taken[i])
        << "what was counted, and no more";
  }
  return refused;
}

TEST(TheByteCeiling, HoldsForLogsThatGrow) {
  MemoryDriver driver({.max_keys = 100'000, .max_bytes = kTenMegabytes});
  const Limit limit = *Limit::SlidingWindowLog({.limit = 100'000, .window = hours(1)});
  EXPECT_GT(FillHistories(driver, limit, 100, 10'000), 100'000);
  EXPECT_GT(driver.store().StatsApprox().bytes, kTenMegabytes / 2);
}

TEST(TheByteCeiling, HoldsForSlotsThatAreTaken) {
  MemoryDriver driver({.max_keys = 100'000, .max_bytes = kTenMegabytes});
  const Limit limit = *Limit::Concurrency({.limit = 100'000, .time_to_live = hours(1)});
  EXPECT_GT(FillHistories(driver, limit, 100, 10'000), 100'000);
}

TEST(TheByteCeiling, HoldsForGrants) {
  MemoryDriver driver({.max_keys = 100'000, .max_bytes = kTenMegabytes});
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = std::to_string(i);
    KeyUse use = UseOf(kHourly, name);
    StoreCall call{.operation = Operation::kGrant, .uses = {&use, 1}, .now = WallTime{kRoomStart}};
    driver.Run(call);
    if (!call.ok) ++refused;
    ASSERT_LE(driver.store().StatsApprox().bytes, kTenMegabytes) << i;
  }
  EXPECT_GT(refused, 10'000);
}

TEST(TheByteCeiling, HoldsForNames) {
  MemoryDriver driver({.max_keys = 100'000, .max_bytes = kTenMegabytes, .keep_names = true});
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string name = std::string(2000, ' ') + std::to_string(i);
    KeyUse use = UseOf(kHourly, name);
    if (!TryCheck(driver, use, kRoomStart).ok) ++refused;
    ASSERT_LE(driver.store().StatsApprox().bytes, kTenMegabytes) << i;
  }
  EXPECT_GT(refused, 10'000);
}

TEST(TheByteCeiling, HoldsWhileThreadsFillLogs) {
  MemoryDriver driver({.max_keys = 100'000, .max_bytes = kTenMegabytes});
  const Limit limit = *Limit::SlidingWindowLog({.limit = 100'000, .window = hours(1)});
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200'000; ++i) {
        const std::string name = std::to_string(t * 20 + i % 20);
        KeyUse use = UseOf(limit, name);
        if (!TryCheck(driver, use, kRoomStart + Micros{i}).ok) ++refused;
        EXPECT_LE(driver.store().StatsApprox().bytes, kTenMegabytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(refused, 0);
  EXPECT_LE(driver.store().StatsApprox().bytes, kTenMegabytes);
}

TEST(TheByteCeiling, HasRoomAgainOnceHistoriesExpire) {
  MemoryDriver driver({.max_keys = 100'000, .max_bytes = kTenMegabytes});
  const Limit limit = *Limit::SlidingWindowLog({.limit = 100'000, .window = hours(1)});
  ASSERT_GT(FillHistories(driver, limit, 100, 10'000), 0);
  const Micros later = kRoomStart + hours(2);
  for (int i = 0; i < 50'000; ++i) {
    const std::string name = "new" + std::to_string(i % 1000);
    KeyUse use = UseOf(limit, name);
    ASSERT_TRUE(TryCheck(driver, use, later + Micros{i}).ok) << i;
  }
}

/// A key that stays in use gives the memory of its bursts back, too.
TEST(TheByteCeiling, IsNotUsedUpByBurstsOfTheSameKey) {
  MemoryDriver driver({.max_keys = 1000});
  const Limit limit = *Limit::SlidingWindowLog({.limit = 100'000, .window = seconds(10)});
  KeyUse use = UseOf(limit, "one");
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(TryCheck(driver, use, kRoomStart + Micros{i}).ok);
  const std::size_t full = driver.store().StatsApprox().bytes;
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_TRUE(TryCheck(driver, use, kRoomStart + seconds(20) + seconds(i)).ok);
  }
  EXPECT_LT(driver.store().StatsApprox().bytes, full / 10);
}

TEST(AFullMemoryStore, ADenialNeedsNoRoom) {
  MemoryDriver driver({.max_keys = 1});
  Client client(driver, "room");
  client.At(kRoomStart);
  client.Check(kHourly, "held", 5);
  std::vector<KeyUse> uses = {client.UseOf(kHourly, "held"), client.UseOf(kHourly, "new")};
  const StoreCall call = client.Run(Operation::kCheck, uses);
  EXPECT_TRUE(call.ok);
  EXPECT_FALSE(call.allowed);
  EXPECT_EQ(driver.store().StatsApprox().refused, 0U);
}

TEST(AFullMemoryStore, ReportsWhichKeysHaveNoRoom) {
  MemoryDriver driver({.max_keys = 1});
  Client client(driver, "room");
  client.At(kRoomStart);
  client.Check(kHourly, "held");
  std::vector<KeyUse> uses = {client.UseOf(kHourly, "new"), client.UseOf(kHourly, "held"),
                              client.UseOf(kHourly, "newer"), client.UseOf(kHourly, "new")};
  const StoreCall call = client.Run(Operation::kCheck, uses);
  EXPECT_EQ(call.error, ErrorCode::kStoreFull);
  EXPECT_TRUE(uses[0].no_room && uses[2].no_room && uses[3].no_room);
  EXPECT_FALSE(uses[1].no_room);
}

TEST(AFullMemoryStore, HasRoomForOverflowKeys) {
  for (const auto& [max_bytes, overflow_keys] :
       {std::pair{std::size_t{0}, 100}, {std::size_t{600'000}, 5}, {kTenMegabytes, 30}}) {
    MemoryDriver driver({.max_keys = max_bytes == 0 ? 1000U : 400'000U, .max_bytes = max_bytes});
    for (int i = 0; i < 400'000; ++i) {
      const std::string name = std::to_string(i);
      KeyUse use = UseOf(kHourly, name);
      TryCheck(driver, use, kRoomStart);
    }
    for (int i = 0; i < overflow_keys; ++i) {
      const std::string name = "overflow" + std::to_string(i);
      KeyUse use = UseOf(kHourly, name, KeyKind::kOverflow);
      EXPECT_TRUE(TryCheck(driver, use, kRoomStart).ok) << i;
      const std::string new_name = "new" + std::to_string(i);
      KeyUse ordinary = UseOf(kHourly, new_name);
      if (max_bytes == 0) {
        EXPECT_FALSE(TryCheck(driver, ordinary, kRoomStart).ok);
      }
    }
    if (max_bytes != 0) {
      EXPECT_LE(driver.store().StatsApprox().bytes, max_bytes);
    }
  }
}

TEST(KeysOfCallers, UseOnlyTheirShareOfTheKeys) {
  MemoryDriver driver({.max_keys = 1000, .caller_percent = 25});
  int held = 0;
  for (int i = 0; i < 2000; ++i) {
    const std::string name = "caller" + std::to_string(i);
    KeyUse use = UseOf(kHourly, name, KeyKind::kFromCaller);
    const StoreCall call = TryCheck(driver, use, kRoomStart);
    held += call.ok ? 1 : 0;
    EXPECT_EQ(use.no_room, !call.ok);
  }
  EXPECT_EQ(held, 250);
  EXPECT_EQ(driver.store().StatsApprox().caller_keys, 250U);
  EXPECT_EQ(driver.store().StatsApprox().caller_refused, 1750U);
  for (int i = 0; i < 750; ++i) {
    const std::string name = "rule" + std::to_string(i);
    KeyUse use = UseOf(kHourly, name);
    EXPECT_TRUE(TryCheck(driver, use, kRoomStart).ok) << i;
  }
  KeyUse known = UseOf(kHourly, "caller7", KeyKind::kFromCaller);
  EXPECT_TRUE(TryCheck(driver, known, kRoomStart).ok);
  EXPECT_EQ(known.verdict.remaining, 3);
}

TEST(KeysOfCallers, HaveRoomAgainWhenTheirKeysExpire) {
  MemoryDriver driver({.max_keys = 1000, .caller_percent = 25});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 250; ++i) {
      const std::string name = std::to_string(round) + ":" + std::to_string(i);
      KeyUse use = UseOf(kHourly, name, KeyKind::kFromCaller);
      ASSERT_TRUE(TryCheck(driver, use, kRoomStart + 2 * hours(1) * round).ok) << name;
    }
  }
}

TEST(KeysOfCallers, UseOnlyTheirShareOfTheBytes) {
  for (const std::size_t max_bytes : {std::size_t{0}, kTenMegabytes}) {
    MemoryDriver driver({.max_keys = 100'000, .max_bytes = max_bytes, .caller_percent = 25});
    const Limit limit = *Limit::SlidingWindowLog({.limit = 1000, .window = hours(1)});
    int refused = 0;
    for (int i = 0; i < 600'000; ++i) {
      const std::string name = std::to_string(i % 600);
      KeyUse use = UseOf(limit, name, KeyKind::kFromCaller);
      if (!TryCheck(driver, use, kRoomStart + Micros{i}).ok) ++refused;
    }
    EXPECT_GT(refused, 0) << max_bytes;
    const MemoryStoreStats stats = driver.store().StatsApprox();
    EXPECT_LE(stats.caller_bytes, stats.max_caller_bytes);
    EXPECT_LE(stats.caller_bytes, max_bytes == 0 ? 25'000 * kBytesPerCallerKey : max_bytes / 4);
    KeyUse of_rule = UseOf(limit, "rule");
    EXPECT_TRUE(TryCheck(driver, of_rule, kRoomStart + seconds(1)).ok);
  }
}

TEST(KeysOfCallers, AreCountedAsTheyComeAndGo) {
  MemoryDriver driver({.max_keys = 10'000});
  const Limit log = *Limit::SlidingWindowLog({.limit = 10, .window = seconds(10)});
  const Limit brief = *Limit::TokenBucket({.capacity = 1, .refill = Rate::PerSecond(1)});
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = std::to_string(i % 3000);
    KeyUse use = UseOf(i % 2 == 0 ? log : brief, name, KeyKind::kFromCaller);
    ASSERT_TRUE(TryCheck(driver, use, kRoomStart + std::chrono::milliseconds(i)).ok);
  }
  Client client(driver, "room");
  client.At(kRoomStart + hours(1));
  for (int i = 0; i < 3000; ++i) client.Reset(log, std::to_string(i));
  const MemoryStoreStats stats = driver.store().StatsApprox();
  EXPECT_EQ(stats.keys, 0U);
  EXPECT_EQ(stats.caller_keys, 0U);
  EXPECT_EQ(stats.caller_bytes, 0U);
}

/// Whatever has no room changes nothing: all other answers are those of a store without bounds.
TEST(AFullMemoryStore, AgreesWithTheModelOnEveryOperation) {
  for (const std::uint64_t seed : TestSeeds(200)) {
    RandomChoices choices(seed);
    MemoryDriver driver({.max_keys = 2, .max_bytes = choices.OneIn(2) ? 20'000U : 0U});
    const auto difference =
        RunAgainstModel(driver, choices, {.steps = 100, .scope = "full", .may_be_full = true});
    ASSERT_FALSE(difference) << "SLUICE_TEST_SEED=" << seed << "\n" << *difference;
  }
}

}  // namespace
}  // namespace sluice::store::testing
