#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/testing/tcp_proxy.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

using redis::testing::TcpProxy;
using ::testing::AnyOf;

std::int64_t CountAllowed(const std::deque<Asked>& asked, std::string_view name) {
  return std::count_if(asked.begin(), asked.end(),
                       [&](const Asked& one) { return one.names[0] == name && one.allowed(); });
}

class RedisStoreFailureTest : public RealRedisTest {
 protected:
  [[nodiscard]] redis::Options ThroughProxy(const TcpProxy& proxy) const {
    redis::Options options = server_.ClientOptions();
    options.port = proxy.port();
    return options;
  }

  const Limit limit_ = SlowBucket(100);
};

// ---- How calls travel.

TEST_F(RedisStoreFailureTest, CallsOfOneTurnShareAScriptCall) {
  Asker asker(loop_, server_.ClientOptions());
  asker.RunCheck(limit_, "known script");
  const std::uint64_t before = asker.store().StatsApprox().script_calls;
  for (int i = 0; i < 128; ++i) asker.Check(limit_, "key" + std::to_string(i % 10));
  ASSERT_TRUE(asker.WaitForAll());
  EXPECT_EQ(asker.store().StatsApprox().script_calls - before, 1U);
  EXPECT_EQ(asker.Used(limit_, "key0"), 13);
}

TEST_F(RedisStoreFailureTest, AScriptCallIsAboutAtMost128Keys) {
  Asker asker(loop_, server_.ClientOptions());
  asker.RunCheck(limit_, "known script");
  const std::uint64_t before = asker.store().StatsApprox().script_calls;
  std::vector<std::string> names(40);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "key" + std::to_string(i);
  for (int i = 0; i < 9; ++i) asker.Submit(Operation::kCheck, limit_, names);
  ASSERT_TRUE(asker.WaitForAll());
  // Calls are not torn: three of 40 fit.
  EXPECT_EQ(asker.store().StatsApprox().script_calls - before, 3U);
  for (const Asked& asked : asker.asked()) EXPECT_TRUE(asked.call.ok);
}

// ---- Redis forgets.

TEST_F(RedisStoreFailureTest, ALostScriptIsReloadedByTheCallThatNeedsIt) {
  Asker asker(loop_, server_.ClientOptions());
  for (int i = 1; i <= 50; ++i) {
    Do("SCRIPT FLUSH");
    const Asked& asked = asker.RunCheck(limit_, "key");
    ASSERT_TRUE(asked.allowed());
    EXPECT_EQ(asked.uses[0].verdict.remaining, 100 - i);
  }
  EXPECT_EQ(asker.store().StatsApprox().reloads, 50U);
  EXPECT_EQ(asker.store().StatsApprox().script_calls, 100U);
}

TEST_F(RedisStoreFailureTest, NothingIsCountedTwiceWhileScriptsAreFlushedAllTheTime) {
  Asker asker(loop_, server_.ClientOptions());
  std::atomic<bool> stop{false};
  std::thread flusher([&] {
    while (!stop.load()) server_.Do("SCRIPT FLUSH");
  });
  constexpr int kWaves = 60;
  constexpr int kKeys = 20;
  for (int wave = 0; wave < kWaves; ++wave) {
    for (int key = 0; key < kKeys; ++key) {
      for (int i = 0; i < 15; ++i) {
        asker.Check(limit_, "key" + std::to_string(key));
      }
    }
    if (!asker.WaitForAll()) break;
  }
  stop.store(true);
  flusher.join();
  for (const Asked& asked : asker.asked()) {
    ASSERT_TRUE(asked.call.ok) << ErrorName(asked.call.error);
    ASSERT_EQ(asked.times, 1);
  }
  for (int key = 0; key < kKeys; ++key) {
    const std::string name = "key" + std::to_string(key);
    EXPECT_EQ(CountAllowed(asker.asked(), name), 100);
    EXPECT_EQ(asker.Used(limit_, name), 100);
  }
  EXPECT_GT(asker.store().StatsApprox().reloads, 0U);
}

TEST_F(RedisStoreFailureTest, ARestartedRedisWorksWithoutIntervention) {
  Asker asker(loop_, server_.ClientOptions());
  EXPECT_EQ(asker.RunCheck(limit_, "key", 60).uses[0].verdict.remaining, 40);
  server_.Kill();
  server_.Start();
  const Asked& asked = asker.RunCheck(limit_, "key");
  ASSERT_TRUE(asked.call.ok) << ErrorName(asked.call.error);
  EXPECT_EQ(asked.uses[0].verdict.remaining, 99) << "memory went with the process";
  EXPECT_EQ(asker.store().StatsApprox().reloads, 2U);
}

TEST_F(RedisStoreFailureTest, ACallWithAShortTimeoutEndsSooner) {
  Asker asker(loop_, server_.ClientOptions());
  ASSERT_TRUE(asker.RunCheck(limit_, "key").allowed());
  server_.Freeze();
  const Asked& patient = asker.Check(limit_, "key");
  KeyUse use;
  use.key = {.scope = kScope, .tag = "key", .rest = {}};
  use.limit = &limit_;
  StoreCall hurried{.uses = {&use, 1}, .timeout = milliseconds(20)};
  ASSERT_EQ(asker.store().Submit(hurried), Completion::kLater);
  ASSERT_TRUE(asker.RunUntil([&] { return !hurried.pending; }));
  EXPECT_EQ(std::string(ErrorName(hurried.error)), "store_timeout");
  EXPECT_EQ(patient.times, 0);
  server_.Thaw();
  ASSERT_TRUE(asker.WaitForAll());
  EXPECT_TRUE(patient.allowed());
}

TEST_F(RedisStoreFailureTest, WithoutRedisACallIsUnavailableAtItsDeadline) {
  Asker asker(loop_, server_.ClientOptions(), milliseconds(60));
  asker.RunCheck(limit_, "key");
  server_.Kill();
  ASSERT_TRUE(asker.RunUntil([&] { return asker.client().state() != redis::State::kReady; }));
  const Asked& asked = asker.RunCheck(limit_, "key");
  EXPECT_FALSE(asked.call.ok);
  EXPECT_EQ(asked.call.error, ErrorCode::kStoreUnavailable);
  EXPECT_EQ(asker.store().StatsApprox().failures, 1U);
}

// ---- Redis refuses.

TEST_F(RedisStoreFailureTest, WithoutMemoryNothingIsAdmittedAndNothingIsLost) {
  const std::vector<Limit> limits = {
      limit_, *Limit::SlidingWindowLog({.limit = 100, .window = std::chrono::hours(1)}),
      *Limit::Concurrency({.limit = 100, .time_to_live = std::chrono::hours(1)})};
  Asker asker(loop_, server_.ClientOptions());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    asker.RunCheck(limits[i], "old" + std::to_string(i), 100);
  }
  Do("CONFIG SET maxmemory 1");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::string number = std::to_string(i);
    const Asked& refused = asker.RunCheck(limits[i], "new" + number);
    EXPECT_FALSE(refused.call.ok);
    EXPECT_EQ(refused.call.error, ErrorCode::kStoreError);
    EXPECT_EQ(Do("EXISTS " + RedisKeyOf("new" + number)), "0");
    const Asked& denied = asker.RunCheck(limits[i], "old" + number);
    EXPECT_TRUE(denied.call.ok) << "a denial needs no memory";
    EXPECT_FALSE(denied.call.allowed);
    EXPECT_TRUE(asker.Run(Operation::kPeek, limits[i], {"new" + number}).allowed());
  }
  EXPECT_EQ(asker.store().StatsApprox().failures, limits.size());
  Do("CONFIG SET maxmemory 0");
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const Asked& healed = asker.RunCheck(limits[i], "new" + std::to_string(i));
    ASSERT_TRUE(healed.allowed());
    EXPECT_EQ(healed.uses[0].verdict.remaining, 99);
  }
}

TEST_F(RedisStoreFailureTest, AReadOnlyRedisIsRetriedUntilTheDeadline) {
  Asker asker(loop_, server_.ClientOptions(), milliseconds(100));
  asker.RunCheck(limit_, "key");
  const std::uint64_t before = asker.store().StatsApprox().script_calls;
  Do("REPLICAOF 127.0.0.1 " + std::to_string(redis::testing::FreePort()));
  const SteadyTime asked_at = SteadyClock::Now();
  const Asked& asked = asker.RunCheck(limit_, "key");
  const Micros took = SteadyClock::Now() - asked_at;
  EXPECT_FALSE(asked.call.ok);
  EXPECT_EQ(asked.call.error, ErrorCode::kStoreError);
  EXPECT_GE(took, milliseconds(50));
  EXPECT_LT(took, seconds(5));
  EXPECT_GT(asker.store().StatsApprox().script_calls - before, 2U);
}

TEST_F(RedisStoreFailureTest, ACallSurvivesAShortReadOnlyPhase) {
  Asker asker(loop_, server_.ClientOptions());
  asker.RunCheck(limit_, "key");
  Do("REPLICAOF 127.0.0.1 " + std::to_string(redis::testing::FreePort()));
  const std::uint64_t before = asker.store().StatsApprox().script_calls;
  Asked& asked = asker.Check(limit_, "key");
  Asked& other = asker.Check(limit_, "other");
  ASSERT_TRUE(
      asker.RunUntil([&] { return asker.store().StatsApprox().script_calls >= before + 3; }));
  EXPECT_EQ(asked.times, 0);
  Do("REPLICAOF NO ONE");
  ASSERT_TRUE(asker.WaitForAll());
  ASSERT_TRUE(asked.allowed()) << ErrorName(asked.call.error);
  EXPECT_EQ(asked.uses[0].verdict.remaining, 98) << "counted once";
  EXPECT_EQ(other.uses[0].verdict.remaining, 99);
}

// ---- Somebody else's values.

struct Foreign {
  const char* name;
  std::string make;  ///< The command, with KEY for the key.
};

// A command that writes `begin` and then `byte` so many times; Redis' inline commands know C's
// escapes.
std::string SetTo(std::string_view begin, std::string_view byte, int times) {
  std::string command = "SET KEY \"" + std::string(begin);
  for (int i = 0; i < times; ++i) command += byte;
  return command + "\"";
}

void PrintTo(const Foreign& foreign, std::ostream* out) { *out << foreign.name; }

class RedisStoreForeignValueTest : public RealRedisTest,
                                   public ::testing::WithParamInterface<Foreign> {};

TEST_P(RedisStoreForeignValueTest, FailsItsCallOnlyAndIsNotChanged) {
  const std::vector<Limit> limits = {
      SlowBucket(100),
      *Limit::LeakyBucket({.capacity = 100, .leak = Rate::PerDay(1)}),
      *Limit::FixedWindow({.limit = 100, .window = kMaxWindow}),
      *Limit::SlidingWindowCounter({.limit = 100, .window = kMaxWindow}),
      *Limit::SlidingWindowLog({.limit = 100, .window = kMaxWindow}),
      *Limit::Concurrency({.limit = 100, .time_to_live = kMaxWindow})};
  const std::string key = RedisKeyOf("foreign");
  std::string make = GetParam().make;
  make.replace(make.find("KEY"), 3, key);
  Do(make);
  const std::string before = Do("DUMP " + key);
  Asker asker(loop_, server_.ClientOptions());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const std::string number = std::to_string(i);
    for (const Operation operation :
         {Operation::kCheck, Operation::kPeek, Operation::kReset, Operation::kInspect}) {
      asker.Clear();
      asker.RunCheck(limits[i], "both" + number);
      Asked& first = asker.Check(limits[i], "ours" + number);
      Asked& alone = asker.Submit(operation, limits[i], {"foreign"});
      Asked& with_ours = asker.Submit(operation, limits[i], {"both" + number, "foreign"});
      Asked& last = asker.Check(limits[i], "ours" + number);
      ASSERT_TRUE(asker.WaitForAll());
      for (const Asked* asked : {&alone, &with_ours}) {
        EXPECT_FALSE(asked->call.ok) << number;
        EXPECT_EQ(asked->call.error, ErrorCode::kForeignValue)
            << number << ": " << ErrorName(asked->call.error);
        EXPECT_FALSE(asked->call.allowed);
      }
      ASSERT_TRUE(first.allowed()) << number;
      ASSERT_TRUE(last.allowed()) << number;
      EXPECT_EQ(first.uses[0].verdict.remaining, last.uses[0].verdict.remaining + 1);
    }
    EXPECT_EQ(asker.Used(limits[i], "both" + number), 4)
        << "a call that names a foreign value changes nothing else either; limit " << number;
  }
  EXPECT_EQ(Do("DUMP " + key), before);
}

INSTANTIATE_TEST_SUITE_P(
    All, RedisStoreForeignValueTest,
    ::testing::Values(Foreign{"AList", "RPUSH KEY a b"}, Foreign{"AHash", "HSET KEY log -1"},
                      Foreign{"ASet", "SADD KEY log"}, Foreign{"AStream", "XADD KEY 1-1 a b"},
                      Foreign{"AWord", "SET KEY hello"}, Foreign{"ANumber", "SET KEY 17"},
                      Foreign{"NoBytes", "SET KEY \"\""},
                      Foreign{"BinaryBytes", "SET KEY \"\\x00\\xff\\r\\n\""},
                      Foreign{"AFutureVersion", SetTo("2t", "\\x00", 40)},
                      Foreign{"AGrantWithoutItsExpiry", SetTo("3t", "\\x00", 40)},
                      Foreign{"AnExpiringGrantOfNothing", SetTo("3t", "\\x00", 56)},
                      Foreign{"ALaterVersion", SetTo("5t", "\\x00", 40)},
                      Foreign{"AnUnknownKind", SetTo("1z", "\\x00", 40)},
                      Foreign{"ATruncatedValue", SetTo("1t", "\\x00", 39)},
                      Foreign{"ACounterWithoutItsPast", SetTo("1w", "\\x00", 40)},
                      Foreign{"AValueThatIsNotANumber", SetTo("1t", "\\xff", 40)},
                      Foreign{"AFraction", SetTo("1t", "\\x3f", 40)},
                      Foreign{"ASortedSet", "ZADD KEY 1 alice 2 bob"},
                      Foreign{"ASortedSetWithAMemberLog", "ZADD KEY 7 log 9 alice"},
                      Foreign{"ASortedSetWithAMemberSlots", "ZADD KEY 7 slots 9 alice"}),
    [](const auto& test) { return std::string(test.param.name); });

// ---- The connection.

// Cuts a connection after some bytes, and holds every answer against what Redis has really done.
class RedisStoreCutTest : public RedisStoreFailureTest {
 protected:
  static constexpr int kKeys = 4;
  static constexpr int kCalls = 40;

  // Many calls in several turns; returns how many were not answered by Redis.
  int RunWithCut(TcpProxy& proxy, TcpProxy::Direction direction, std::size_t bytes) {
    const Limit limit = SlowBucket(7);
    Do("FLUSHALL");
    proxy.CutNextAfter(direction, bytes);
    Asker asker(loop_, ThroughProxy(proxy), seconds(5));
    for (int i = 0; i < kCalls; ++i) {
      asker.Check(limit, "key" + std::to_string(i % kKeys));
      if (i % 8 == 7) asker.RunUntil([] { return false; }, milliseconds(1));
    }
    EXPECT_TRUE(asker.WaitForAll());
    int failed = 0;
    Asker direct(loop_, server_.ClientOptions());
    for (int key = 0; key < kKeys; ++key) {
      const std::string name = "key" + std::to_string(key);
      std::int64_t allowed = 0;
      std::int64_t unknown = 0;
      for (const Asked& asked : asker.asked()) {
        if (asked.names[0] != name) continue;
        EXPECT_EQ(asked.times, 1);
        if (asked.allowed()) ++allowed;
        if (asked.call.ok) continue;
        ++failed;
        EXPECT_THAT(asked.call.error,
                    AnyOf(ErrorCode::kStoreTimeout, ErrorCode::kStoreUnavailable));
        if (asked.call.error == ErrorCode::kStoreTimeout) ++unknown;
      }
      const std::int64_t used = direct.Used(limit, name);
      EXPECT_LE(allowed, limit.cap());
      EXPECT_GE(used, allowed) << "cut after " << bytes;
      EXPECT_LE(used, allowed + unknown) << "cut after " << bytes;
    }
    return failed;
  }
};

TEST_F(RedisStoreCutTest, WhereverCommandsAreCutNoResultIsWrong) {
  TcpProxy proxy(server_.port());
  int failed = 0;
  for (std::size_t bytes = 0; bytes < 5000 && !HasFailure(); bytes += 61) {
    failed += RunWithCut(proxy, TcpProxy::Direction::kToServer, bytes);
  }
  EXPECT_GT(failed, 0);
}

TEST_F(RedisStoreCutTest, WhereverRepliesAreCutNoResultIsWrong) {
  TcpProxy proxy(server_.port());
  int failed = 0;
  for (std::size_t bytes = 0; bytes < 2400 && !HasFailure(); bytes += 31) {
    failed += RunWithCut(proxy, TcpProxy::Direction::kToClient, bytes);
  }
  EXPECT_GT(failed, 0);
}

TEST_F(RedisStoreCutTest, WhereverTheScriptIsCutNoResultIsWrong) {
  TcpProxy proxy(server_.port());
  int failed = 0;
  for (std::size_t bytes = 0; bytes < 40000 && !HasFailure(); bytes += 997) {
    Do("SCRIPT FLUSH");
    failed += RunWithCut(proxy, TcpProxy::Direction::kToServer, bytes);
  }
  EXPECT_GT(failed, 0);
}

TEST_F(RedisStoreFailureTest, AFrozenRedisCostsNoMoreThanTheDeadline) {
  Asker asker(loop_, server_.ClientOptions(), milliseconds(200));
  while (!asker.RunCheck(limit_, "key").call.ok) {  // It connects.
  }
  const std::uint64_t timeouts = asker.store().StatsApprox().timeouts;
  server_.Freeze();
  const SteadyTime asked_at = SteadyClock::Now();
  const Asked& asked = asker.RunCheck(limit_, "key");
  const Micros took = SteadyClock::Now() - asked_at;
  server_.Thaw();
  EXPECT_FALSE(asked.call.ok);
  EXPECT_EQ(asked.call.error, ErrorCode::kStoreTimeout);
  EXPECT_EQ(asker.store().StatsApprox().timeouts, timeouts + 1);
  EXPECT_GE(took, milliseconds(190));
  EXPECT_LT(took, seconds(10));  // A busy machine is no failure.
}

TEST_F(RedisStoreFailureTest, ALateReplyIsNotMatchedToALaterCall) {
  redis::Options options = server_.ClientOptions();
  options.stall_timeout = seconds(20);
  Asker asker(loop_, options, milliseconds(300));
  asker.RunCheck(limit_, "key");
  server_.Freeze();
  const Asked& late = asker.RunCheck(limit_, "key", 10);
  EXPECT_EQ(late.call.error, ErrorCode::kStoreTimeout);
  server_.Thaw();
  const Asked& next = asker.RunCheck(limit_, "other", 20);
  const Asked& last = asker.RunCheck(limit_, "key", 30);
  ASSERT_TRUE(next.allowed());
  EXPECT_EQ(next.uses[0].verdict.remaining, 80);
  ASSERT_TRUE(last.allowed());
  EXPECT_EQ(last.uses[0].verdict.remaining, 59) << "the late call did happen, once";
  EXPECT_EQ(late.times, 1);
  EXPECT_FALSE(late.call.ok);
  EXPECT_EQ(asker.client().StatsApprox().late_replies, 1U);
  EXPECT_EQ(asker.client().StatsApprox().connects, 1U);
}

}  // namespace
}  // namespace sluice::store::testing
