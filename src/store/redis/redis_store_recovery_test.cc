// Times in which Redis is there and answers, but does not do what it is asked to: it loads its
// data, runs another client's long script, or is a replica. Calls outlive them, or fail in time.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/client.h"
#include "resp/encoder.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

using redis::testing::RedisServer;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr Micros kTimeout = seconds(30);

/// What a spell is cast on.
struct Stage {
  RedisServer& server;
  net::Loop& loop;

  std::string Do(const std::string& command) const { return Describe(server.Do(command).value()); }

  /// Runs the loop until the server's answer to the command says `expected`.
  void Await(const std::string& command, std::string_view expected) const {
    const SteadyTime give_up = SteadyClock::Now() + kTimeout;
    std::string last = Do(command);
    while (last.find(expected) == std::string::npos && SteadyClock::Now() < give_up) {
      loop.RunUntil([] { return false; }, SteadyClock::Now() + milliseconds(1));
      last = Do(command);
    }
    ASSERT_THAT(last, HasSubstr(std::string(expected))) << command;
  }
};

/// A time in which Redis refuses.
class Spell {
 public:
  virtual ~Spell() = default;
  /// Returns once Redis refuses.
  virtual void Begin(const Stage& stage) = 0;
  virtual void End(const Stage& stage) = 0;
};

// Restarts it with so much saved data that loading takes long, until it is asked to hurry.
class Loading final : public Spell {
 public:
  void Begin(const Stage& stage) override {
    stage.Do("EVAL \"for i=1,40000 do redis.call('SET', 'filler'..i, ('x'):rep(100)) end\" 0");
    stage.Do("SAVE");
    stage.server.Kill();
    stage.server.Start(RedisServer::Until::kListens);
    stage.Await("PING", "LOADING");
  }
  void End(const Stage& stage) override { stage.Do("CONFIG SET key-load-delay 0"); }
};

class Busy final : public Spell {
 public:
  void Begin(const Stage& stage) override {
    somebody_.emplace(stage.loop, stage.server.ClientOptions());
    std::string command;
    resp::AppendCommand(command, {"EVAL", "while true do end", "0"});
    somebody_->Send(command, SteadyTime::max(), [](const redis::Answer&) {});
    stage.Await("PING", "BUSY");
  }
  void End(const Stage& stage) override {
    stage.Do("SCRIPT KILL");
    somebody_.reset();
  }

 private:
  std::optional<redis::Client> somebody_;
};

class OrphanedReplica : public Spell {
 public:
  void Begin(const Stage& stage) override {
    stage.Do("REPLICAOF 127.0.0.1 " + std::to_string(redis::testing::FreePort()));
  }
  void End(const Stage& stage) override { stage.Do("REPLICAOF NO ONE"); }
};

// A replica that does not even let others read.
class MasterDown final : public OrphanedReplica {
 public:
  void Begin(const Stage& stage) override {
    stage.Do("CONFIG SET replica-serve-stale-data no");
    OrphanedReplica::Begin(stage);
    stage.Await("GET x", "MASTERDOWN");
  }
};

// Another server has taken over, and holds all that this one held.
class Replica final : public Spell {
 public:
  void Begin(const Stage& stage) override {
    primary_ = std::make_unique<RedisServer>(
        redis::testing::RedisServerOptions{.config = {"repl-diskless-sync-delay 0"}});
    const Stage primary{*primary_, stage.loop};
    primary.Do("REPLICAOF 127.0.0.1 " + std::to_string(stage.server.port()));
    primary.Await("INFO replication", "master_link_status:up");
    primary.Do("REPLICAOF NO ONE");
    stage.Do("REPLICAOF 127.0.0.1 " + std::to_string(primary_->port()));
    stage.Await("INFO replication", "master_link_status:up");
  }
  void End(const Stage& stage) override { stage.Do("REPLICAOF NO ONE"); }

 private:
  std::unique_ptr<RedisServer> primary_;
};

struct Case {
  const char* name;
  std::unique_ptr<Spell> (*make)();
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

template <class T>
std::unique_ptr<Spell> Make() {
  return std::make_unique<T>();
}

class RecoveringRedisTest : public ::testing::Test {
 protected:
  RedisServer server_{{.config = {"lua-time-limit 5", "rdbcompression no",
                                  "loading-process-events-interval-bytes 1024",
                                  "key-load-delay 500", "repl-diskless-sync-delay 0"}}};
  net::Loop loop_;
  const Stage stage_{server_, loop_};
};

class RedisStoreRecoveryTest : public RecoveringRedisTest,
                               public ::testing::WithParamInterface<Case> {
 protected:
  // Whether Redis has answered all that the client has sent: what is pending waits in the store.
  static bool OwesNothing(Asker& asker) {
    const redis::Stats stats = asker.client().StatsApprox();
    return stats.state == redis::State::kReady && stats.in_flight == 0 && stats.queued == 0;
  }

  const std::unique_ptr<Spell> spell_ = GetParam().make();
  const std::array<Limit, 3> limits_ = {
      SlowBucket(100), *Limit::SlidingWindowLog({.limit = 100, .window = std::chrono::hours(24)}),
      *Limit::Concurrency({.limit = 100, .time_to_live = std::chrono::hours(24)})};
};

TEST_P(RedisStoreRecoveryTest, CallsOutliveItAndAreCountedOnce) {
  Asker asker(loop_, server_.ClientOptions(), kTimeout);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    ASSERT_TRUE(asker.RunCheck(limits_[i], "key" + std::to_string(i), 10).allowed());
  }
  spell_->Begin(stage_);
  asker.Clear();
  const std::uint64_t before = asker.store().StatsApprox().script_calls;
  constexpr int kTurns = 4;
  for (int turn = 0; turn < kTurns; ++turn) {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      asker.Check(limits_[i], "key" + std::to_string(i));
    }
    asker.RunUntil([] { return false; }, milliseconds(1));
  }
  ASSERT_TRUE(asker.RunUntil([&] {
    return asker.store().StatsApprox().script_calls >= before + 3 * kTurns;
  })) << "each is sent again and again";
  for (const Asked& asked : asker.asked()) EXPECT_EQ(asked.times, 0);
  spell_->End(stage_);
  ASSERT_TRUE(asker.WaitForAll());
  for (const Asked& asked : asker.asked()) {
    EXPECT_TRUE(asked.allowed()) << ErrorName(asked.call.error);
    EXPECT_EQ(asked.times, 1);
  }
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    EXPECT_EQ(asker.Used(limits_[i], "key" + std::to_string(i)), 10 + kTurns);
  }
}

TEST_P(RedisStoreRecoveryTest, CallsWhoseDeadlinePassesFirstFailInTimeAndAreNotCounted) {
  constexpr Micros kDeadline = milliseconds(100);
  constexpr int kEnough = 4;
  constexpr int kMostCalls = 50;
  Asker asker(loop_, server_.ClientOptions(), kDeadline);
  Asker patient(loop_, server_.ClientOptions(), kTimeout);
  ASSERT_TRUE(patient.RunCheck(limits_[0], "key", 10).allowed());
  spell_->Begin(stage_);
  asker.client().Connect();
  ASSERT_TRUE(asker.RunUntil([&] { return asker.client().state() == redis::State::kReady; }));
  Micros shortest = kTimeout;
  int refused = 0;
  std::int64_t unknown = 0;
  for (int i = 0; i < kMostCalls && refused < kEnough; ++i) {
    const SteadyTime asked_at = SteadyClock::Now();
    const Asked& asked = asker.RunCheck(limits_[0], "key");
    const Micros took = SteadyClock::Now() - asked_at;
    shortest = std::min(shortest, took);
    EXPECT_FALSE(asked.call.ok);
    EXPECT_EQ(asked.times, 1);
    EXPECT_GE(took, kDeadline / 2) << "it was asked again";
    // On a busy machine, the last try may have been too late for its refusal.
    EXPECT_THAT(asked.call.error, AnyOf(ErrorCode::kStoreError, ErrorCode::kStoreTimeout));
    if (asked.call.error == ErrorCode::kStoreError) ++refused;
    if (asked.call.error == ErrorCode::kStoreTimeout) ++unknown;
  }
  EXPECT_EQ(refused, kEnough);
  EXPECT_LE(shortest, kDeadline + milliseconds(5));
  spell_->End(stage_);
  const Asked& last = patient.RunCheck(limits_[0], "key");
  ASSERT_TRUE(last.allowed()) << ErrorName(last.call.error);
  EXPECT_LE(last.uses[0].verdict.remaining, 89);
  EXPECT_GE(last.uses[0].verdict.remaining, 89 - unknown);
}

TEST_P(RedisStoreRecoveryTest, WhenItComesAgainAndAgainNothingIsCountedTwice) {
  Asker asker(loop_, server_.ClientOptions(), kTimeout);
  std::int64_t checks = 0;
  const auto check_all = [&] {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      asker.Check(limits_[i], "key" + std::to_string(i));
    }
    ++checks;
    asker.RunUntil([] { return false; }, milliseconds(1));
  };
  for (int round = 0; round < 3; ++round) {
    check_all();
    ASSERT_TRUE(asker.WaitForAll());
    spell_->Begin(stage_);
    check_all();
    check_all();
    spell_->End(stage_);
    check_all();
  }
  ASSERT_TRUE(asker.WaitForAll());
  for (const Asked& asked : asker.asked()) {
    EXPECT_TRUE(asked.allowed()) << ErrorName(asked.call.error);
    EXPECT_EQ(asked.times, 1);
  }
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    EXPECT_EQ(asker.Used(limits_[i], "key" + std::to_string(i)), checks);
  }
}

TEST_P(RedisStoreRecoveryTest, AConnectionIsMadeMeanwhileOrWaitsForItsEnd) {
  redis::Options options = server_.ClientOptions();
  options.database = 3;  // SELECT is not among what a busy Redis answers.
  spell_->Begin(stage_);
  Asker asker(loop_, options, kTimeout);
  Asked& asked = asker.Check(limits_[0], "key");
  ASSERT_TRUE(asker.RunUntil([&] {
    const redis::Stats stats = asker.client().StatsApprox();
    return stats.connects > 0 || stats.connect_failures >= 2;
  }));
  EXPECT_EQ(asked.times, 0) << ErrorName(asked.call.error) << ": " << asker.client().last_error();
  spell_->End(stage_);
  ASSERT_TRUE(asker.WaitForAll());
  ASSERT_TRUE(asked.allowed()) << ErrorName(asked.call.error);
  EXPECT_EQ(asked.uses[0].verdict.remaining, 99);
}

TEST_P(RedisStoreRecoveryTest, ClosingTheClientMeanwhileAnswersEveryCallOnce) {
  Asker asker(loop_, server_.ClientOptions(), kTimeout);
  asker.client().Connect();
  spell_->Begin(stage_);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    asker.Check(limits_[i], "key" + std::to_string(i));
  }
  ASSERT_TRUE(asker.RunUntil(
      [&] { return asker.store().StatsApprox().script_calls >= 2 && OwesNothing(asker); }));
  const SteadyTime closed_at = SteadyClock::Now();
  asker.client().Close();
  ASSERT_TRUE(asker.WaitForAll());
  EXPECT_LT(SteadyClock::Now() - closed_at, seconds(5)) << "long before the deadline";
  for (const Asked& asked : asker.asked()) {
    EXPECT_FALSE(asked.call.ok);
    EXPECT_EQ(asked.call.error, ErrorCode::kStoreUnavailable) << ErrorName(asked.call.error);
    EXPECT_EQ(asked.times, 1);
  }
  spell_->End(stage_);
}

TEST_P(RedisStoreRecoveryTest, DestroyingTheStoreMeanwhileAnswersEveryCallAtOnce) {
  Asker asker(loop_, server_.ClientOptions(), kTimeout);
  asker.client().Connect();
  spell_->Begin(stage_);
  asker.Check(limits_[0], "key");
  ASSERT_TRUE(asker.RunUntil(
      [&] { return asker.store().StatsApprox().script_calls >= 2 && OwesNothing(asker); }));
  asker.DestroyStore();
  EXPECT_EQ(asker.asked()[0].times, 1);
  EXPECT_EQ(asker.asked()[0].call.error, ErrorCode::kStoreUnavailable);
  spell_->End(stage_);
}

INSTANTIATE_TEST_SUITE_P(All, RedisStoreRecoveryTest,
                         ::testing::Values(Case{"Loading", Make<Loading>},
                                           Case{"BusyWithALongScript", Make<Busy>},
                                           Case{"AnOrphanedReplica", Make<OrphanedReplica>},
                                           Case{"AReplicaThatServesNothing", Make<MasterDown>},
                                           Case{"AReplica", Make<Replica>}),
                         [](const auto& test) { return std::string(test.param.name); });

// ---- Replicas.

class RedisStoreFailoverTest : public RecoveringRedisTest {
 protected:
  const std::array<Limit, 6> limits_ = {
      SlowBucket(100),
      *Limit::LeakyBucket({.capacity = 100, .leak = Rate::PerDay(1)}),
      *Limit::FixedWindow({.limit = 100, .window = kMaxWindow}),
      *Limit::SlidingWindowCounter({.limit = 100, .window = kMaxWindow}),
      *Limit::SlidingWindowLog({.limit = 100, .window = kMaxWindow}),
      *Limit::Concurrency({.limit = 100, .time_to_live = kMaxWindow})};
};

TEST_F(RedisStoreFailoverTest, APromotedReplicaContinuesWithTheStateOfThePrimary) {
  Asker asker(loop_, server_.ClientOptions(), kTimeout);
  Replica replica;
  std::int64_t used = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const Asked& asked = asker.RunCheck(limits_[i], "key" + std::to_string(i), 7);
      ASSERT_TRUE(asked.allowed()) << ErrorName(asked.call.error);
      EXPECT_EQ(asked.uses[0].verdict.remaining, 100 - used - 7) << "limit " << i;
    }
    used += 7;
    replica.Begin(stage_);
    replica.End(stage_);
  }
}

TEST_F(RedisStoreFailoverTest, AReplicaAnswersReadOnlyCalls) {
  Asker asker(loop_, server_.ClientOptions(), kTimeout);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    asker.RunCheck(limits_[i], "key" + std::to_string(i), 100);
  }
  Replica replica;
  replica.Begin(stage_);
  for (std::size_t i = 0; i < limits_.size(); ++i) {
    const std::string name = "key" + std::to_string(i);
    const Asked& denied = asker.RunCheck(limits_[i], name);
    EXPECT_TRUE(denied.call.ok) << "limit " << i;
    EXPECT_FALSE(denied.call.allowed) << "limit " << i;
    EXPECT_TRUE(asker.Run(Operation::kPeek, limits_[i], {"new"}).allowed());
    EXPECT_EQ(asker.Used(limits_[i], name), 100);
  }
}

}  // namespace
}  // namespace sluice::store::testing
