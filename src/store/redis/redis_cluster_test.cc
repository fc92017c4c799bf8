// A Redis Cluster as it lives: slots move, nodes come, fail over and die, while calls go on.

#include "redis/testing/redis_cluster.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/slot.h"
#include "redis/testing/await.h"
#include "redis/testing/documented_user.h"
#include "store/redis/testing/load.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

using redis::testing::Await;
using redis::testing::DocumentedUser;
using redis::testing::Join;
using redis::testing::RedisCluster;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Micros kLong = seconds(20);
constexpr std::int64_t kPlenty = 1'000'000;

std::uint16_t SlotOfTag(const std::string& tag) { return redis::SlotOf("{" + tag + "}"); }

/// A tag whose slot the node has, at the start; others for other numbers.
std::string TagOn(std::size_t node, int number = 0) {
  for (int i = number * 1000;; ++i) {
    std::string tag = "tag" + std::to_string(i);
    if (SlotOfTag(tag) * RedisCluster::kPrimaries / redis::kSlots == node) return tag;
  }
}

/// How often the server was asked to do what.
std::string CommandsOf(const redis::testing::RedisServer& server) {
  return std::string(server.Do("INFO commandstats").value().text());
}

/// How often the server was asked for the map.
int MapsAskedOf(const redis::testing::RedisServer& server) {
  constexpr std::string_view kName = "cmdstat_cluster|slots:calls=";
  const std::string commands = CommandsOf(server);
  const std::size_t at = commands.find(kName);
  return at == std::string::npos ? 0 : std::stoi(commands.substr(at + kName.size()));
}

void ExpectEverythingCounted(Load& load) {
  for (const Budget& budget : load.budgets()) {
    EXPECT_EQ(load.Used(budget), budget.taken) << budget.scope << " of " << budget.tag;
  }
}

class RedisClusterTest : public ::testing::Test {
 protected:
  net::Loop loop_;
  const Limit plenty_ = *Limit::FixedWindow({.limit = kPlenty, .window = kMaxWindow});
};

TEST_F(RedisClusterTest, ChecksOfOneTurnLeaveInOneWriteToEachNode) {
  RedisCluster cluster(RedisCluster::Replicas::kNone);
  Asker asker(loop_, cluster.ClientOptions(), kLong);
  asker.client().Connect();
  ASSERT_TRUE(asker.RunUntil([&] { return asker.client().StatsApprox().connected == 3; }));
  constexpr int kChecks = 300;
  const std::uint64_t writes_before = asker.client().StatsApprox().writes;
  std::set<std::uint16_t> slots;
  for (int i = 0; i < kChecks; ++i) {
    slots.insert(SlotOfTag("key" + std::to_string(i)));
    asker.Check(plenty_, "key" + std::to_string(i));
  }
  ASSERT_TRUE(asker.WaitForAll());
  for (const Asked& asked : asker.asked()) EXPECT_TRUE(asked.allowed());
  // Once by its hash, and once with its text where it was not known.
  EXPECT_LE(asker.client().StatsApprox().writes - writes_before, 2 * RedisCluster::kPrimaries);
  EXPECT_EQ(asker.store().StatsApprox().script_calls - asker.store().StatsApprox().reloads,
            slots.size());
  for (std::size_t i = 0; i < RedisCluster::kPrimaries; ++i) {
    EXPECT_THAT(CommandsOf(cluster.node(i)),
                AllOf(HasSubstr("cmdstat_evalsha"), HasSubstr("cmdstat_eval:calls=1,")));
  }
}

TEST_F(RedisClusterTest, LimitsOfOneClientAreOneDecisionInOneSlot) {
  RedisCluster cluster(RedisCluster::Replicas::kNone);
  Load load(loop_, cluster.ClientOptions(), kLong, 1);
  const Limit few = SlowBucket(5);
  Budget& day = load.AddBudget("rule:day", "alice smith", few);
  Budget& minute = load.AddBudget("other:minute", "alice smith", plenty_);
  load.Ask({&day, &minute});
  load.During([&] { load.AwaitAllowed(5); });
  EXPECT_EQ(load.store().StatsApprox().scattered, 0U);
  EXPECT_EQ(load.Used(minute), 5);
}

TEST_F(RedisClusterTest, LimitsInDifferentSlotsTakeFromAllOrNone) {
  RedisCluster cluster(RedisCluster::Replicas::kNone);
  constexpr std::int64_t kCommon = 100;
  constexpr std::int64_t kOwn = 30;
  const Limit common = SlowBucket(kCommon);
  const Limit own = SlowBucket(kOwn);
  // All callers at once, and tokens on their way back may deny others: in the end, one caller asks.
  Load crowd(loop_, cluster.ClientOptions(), kLong, 60);
  Budget& all = crowd.AddBudget("rule:all", TagOn(0), common);
  for (int i = 0; i < 6; ++i) {
    Budget& one = crowd.AddBudget("rule:own", TagOn(1 + static_cast<std::size_t>(i) % 2, i), own);
    crowd.Ask({&one, &all});
    crowd.Ask({&all, &one});
  }
  crowd.During([&] { crowd.AwaitAllowed(kCommon * 9 / 10); });
  EXPECT_THAT(crowd.errors(), IsEmpty());
  EXPECT_LE(crowd.allowed(), kCommon);
  EXPECT_GT(crowd.store().StatsApprox().scattered, 0U);
  // No caller waits for refunds; a turn or two later they have arrived.
  Await("all is given back", [&] {
    loop_.RunUntil([] { return false; }, SteadyClock::Now() + milliseconds(5));
    return crowd.Used(all) == crowd.allowed();
  });
  ExpectEverythingCounted(crowd);

  Load straggler(loop_, cluster.ClientOptions(), kLong, 1);
  Budget& last = straggler.AddBudget("rule:own", TagOn(1, 99), plenty_);
  Budget& rest = straggler.AddBudget("rule:all", TagOn(0), common);
  straggler.Ask({&last, &rest});
  if (crowd.allowed() < kCommon) {
    straggler.During([&] { straggler.AwaitAllowed(kCommon - crowd.allowed()); });
  }
  EXPECT_EQ(straggler.Used(rest), kCommon);
}

TEST_F(RedisClusterTest, ACancellationThatTimedOutIsCompletedByRetriesAndCountsOnce) {
  RedisCluster cluster(RedisCluster::Replicas::kNone);
  Asker asker(loop_, cluster.ClientOptions(), milliseconds(300));
  const Limit ten = SlowBucket(10);
  // Without a tag, a key's whole name chooses its slot.
  const std::vector<std::string> tags = {TagOn(0), TagOn(1), ""};
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(asker.Run(Operation::kCheck, ten, tags).allowed());
  std::vector<Settlement> settlements(
      tags.size(),
      Settlement{.receipt = 7, .expires = TheSystemClock().Now() + std::chrono::hours(1)});
  const auto cancel = [&]() -> const StoreCall& {
    Asked& asked = asker.Prepare(Operation::kAdjust, ten, tags, 0);
    for (std::size_t i = 0; i < tags.size(); ++i) {
      asked.uses[i].receipt = {.amount = 1};
      asked.uses[i].settlement = &settlements[i];
    }
    asker.store().Submit(asked.call);
    EXPECT_TRUE(asker.RunUntil([&] { return asked.times > 0; }));
    return asked.call;
  };
  cluster.node(1).Freeze();
  EXPECT_EQ(cancel().error, ErrorCode::kStoreTimeout);
  cluster.node(1).Thaw();
  Await("a retry is answered", [&] { return cancel().ok; });
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(cancel().ok);
  for (const Settlement& settlement : settlements) EXPECT_TRUE(settlement.repeated);
  for (const std::string& tag : tags) EXPECT_EQ(asker.Used(ten, tag), 4) << tag;
}

TEST_F(RedisClusterTest, ASlotThatMovesUnderLoadStaysExact) {
  RedisCluster cluster(RedisCluster::Replicas::kNone);
  redis::Options options = cluster.ClientOptions();
  options.username = "sluice";
  options.password = redis::Secret("pw");
  for (std::size_t i = 0; i < RedisCluster::kPrimaries; ++i) {
    const std::string user = Join(DocumentedUser("pw")) + " +cluster|slots +asking";
    ASSERT_EQ(cluster.node(i).Do("ACL SETUSER sluice" + user).value().text(), "OK");
  }
  Load load(loop_, options, kLong);
  const std::string tag = TagOn(0);
  const std::uint16_t slot = SlotOfTag(tag);
  const auto add = [&](const std::string& name) -> Budget& {
    return load.AddBudget("rule:" + name, tag, plenty_);
  };
  // Some keys there are; some begin while their slot is in two places, alone and together.
  for (int i = 0; i < 20; ++i) load.Ask({&add("single" + std::to_string(i))});
  load.Ask({&add("pair0"), &add("pair1")});
  Budget& elsewhere = load.AddBudget("rule:other", TagOn(2), plenty_);
  load.Ask({&elsewhere, &add("with_other")});
  load.During([&] { load.AwaitAllowed(200); });
  cluster.BeginMove(slot, 0, 1);
  load.Ask({&add("new")});
  Budget& new_pair = add("new_pair0");
  load.Ask({&new_pair, &add("new_pair1")});
  load.During([&] {
    load.AwaitAllowed(300);
    while (cluster.MoveKeys(slot, 0, 1, 5) > 0) load.AwaitAllowed(50);
    load.AwaitAllowed(300);
  });
  EXPECT_GT(new_pair.taken, 0);
  load.During([&] {
    cluster.EndMove(slot, 1);
    load.AwaitAllowed(300);
  });
  EXPECT_EQ(cluster.OwnerOf(slot, 0), 1U);
  EXPECT_THAT(load.errors(), IsEmpty());
  ExpectEverythingCounted(load);
}

TEST_F(RedisClusterTest, ANewNodeTakesItsShareUnderLoad) {
  RedisCluster cluster(RedisCluster::Replicas::kNone);
  Load load(loop_, cluster.ClientOptions(), kLong);
  const std::string tag = TagOn(1);
  const std::uint16_t slot = SlotOfTag(tag);
  for (int i = 0; i < 10; ++i) {
    load.Ask({&load.AddBudget("rule:" + std::to_string(i), tag, plenty_)});
  }
  load.Ask({&load.AddBudget("rule:0", TagOn(2), plenty_)});
  load.During([&] { load.AwaitAllowed(100); });
  const std::size_t added = cluster.AddNode();
  load.During([&] {
    cluster.BeginMove(slot, 1, added);
    while (cluster.MoveKeys(slot, 1, added, 3) > 0) load.AwaitAllowed(50);
    cluster.EndMove(slot, added);
    load.AwaitAllowed(300);
  });
  EXPECT_THAT(load.errors(), IsEmpty());
  EXPECT_THAT(CommandsOf(cluster.node(added)), HasSubstr("cmdstat_evalsha"));
  ExpectEverythingCounted(load);
}

TEST_F(RedisClusterTest, APlannedFailoverUnderLoadStaysExact) {
  // Only the planned one: a node that is silent on a busy machine is not replaced, which would lose
  // calls that were not replicated yet.
  RedisCluster cluster(RedisCluster::Replicas::kOneEach, {"cluster-node-timeout 3000"});
  Load load(loop_, cluster.ClientOptions(), kLong);
  for (std::size_t i = 0; i < 6; ++i) {
    load.Ask({&load.AddBudget("rule:limit", TagOn(i % 3, static_cast<int>(i)), plenty_)});
  }
  load.During([&] {
    load.AwaitAllowed(300);
    cluster.FailOver(3);
    load.AwaitAllowed(300);
  });
  EXPECT_THAT(load.errors(), IsEmpty());
  ExpectEverythingCounted(load);
}

TEST_F(RedisClusterTest, WhenAPrimaryIsKilledItsReplicaTakesOver) {
  RedisCluster cluster;
  Load load(loop_, cluster.ClientOptions(), milliseconds(100));
  for (std::size_t i = 0; i < 6; ++i) {
    load.Ask({&load.AddBudget("rule:limit", TagOn(i % 3, static_cast<int>(i)), plenty_)});
  }
  load.During([&] {
    load.AwaitAllowed(300);
    const auto is = [&](redis::State state) { return load.service().StatsApprox().state == state; };
    cluster.node(0).Kill();
    Await("it is noticed", [&] { return is(redis::State::kWaiting); });
    Await("the replica has the slots", [&] { return cluster.OwnerOf(0, 1) == 3; });
    Await("all is well again", [&] { return is(redis::State::kReady); });
    load.AwaitAllowed(1000);
  });
  for (const auto& [code, count] : load.errors()) {
    EXPECT_THAT(code, AnyOf(ErrorCode::kStoreTimeout, ErrorCode::kStoreUnavailable,
                            ErrorCode::kStoreError));
  }
  // What was killed had been replicated but for the last moments; what timed out may have counted.
  const auto timeouts = load.errors().find(ErrorCode::kStoreTimeout);
  const std::int64_t perhaps = timeouts == load.errors().end() ? 0 : timeouts->second;
  std::int64_t lost = 0;
  for (const Budget& budget : load.budgets()) {
    const std::int64_t used = load.Used(budget);
    EXPECT_GT(used, 0) << budget.tag;
    EXPECT_LE(used, budget.taken + perhaps) << budget.tag;
    lost += std::max<std::int64_t>(budget.taken - used, 0);
  }
  // Thousands of calls failed meanwhile.
  EXPECT_LT(MapsAskedOf(cluster.node(2)), 200);
  RecordProperty("lost", static_cast<int>(lost));
  RecordProperty("worst_us", static_cast<int>(load.worst().count()));

  Load after(loop_, cluster.ClientOptions(), kLong);
  after.Ask({&after.AddBudget("rule:after", TagOn(0), plenty_)});
  after.During([&] { after.AwaitAllowed(300); });
  EXPECT_THAT(after.errors(), IsEmpty());
  ExpectEverythingCounted(after);
}

TEST_F(RedisClusterTest, AFrozenPrimaryIsAbandonedWhenItIsReplaced) {
  RedisCluster cluster;
  redis::Options options = cluster.ClientOptions();
  options.stall_timeout = milliseconds(300);
  Load load(loop_, options, milliseconds(100));
  for (std::size_t i = 0; i < RedisCluster::kPrimaries; ++i) {
    load.Ask({&load.AddBudget("rule:limit", TagOn(i), plenty_)});
  }
  load.During([&] {
    load.AwaitAllowed(300);
    cluster.node(0).Freeze();
    Await("the replica has the slots", [&] { return cluster.OwnerOf(0, 1) == 3; });
    Await("calls go to the replica",
          [&] { return CommandsOf(cluster.node(3)).find("cmdstat_evalsha") != std::string::npos; });
    load.AwaitAllowed(300);
  });
  cluster.node(0).Thaw();
}

TEST_F(RedisClusterTest, SeedsAreTriedInTurn) {
  RedisCluster cluster(RedisCluster::Replicas::kNone);
  redis::Options options = cluster.ClientOptions();
  options.seeds = {{"127.0.0.1", redis::testing::FreePort()}, options.seeds[2]};
  Asker asker(loop_, options, kLong);
  for (std::size_t node = 0; node < RedisCluster::kPrimaries; ++node) {
    EXPECT_TRUE(asker.RunCheck(plenty_, TagOn(node)).allowed());
  }
}

TEST_F(RedisClusterTest, NodesThatDoNotSayTheirHostAreWhereTheyWereAsked) {
  RedisCluster cluster(RedisCluster::Replicas::kNone,
                       {"cluster-preferred-endpoint-type unknown-endpoint"});
  Asker asker(loop_, cluster.ClientOptions(), kLong);
  for (std::size_t node = 0; node < RedisCluster::kPrimaries; ++node) {
    EXPECT_TRUE(asker.RunCheck(plenty_, TagOn(node)).allowed());
  }
  const std::string tag = TagOn(0, 1);
  const std::uint16_t slot = SlotOfTag(tag);
  cluster.BeginMove(slot, 0, 1);
  EXPECT_TRUE(asker.RunCheck(plenty_, tag).allowed());  // ASK
  cluster.EndMove(slot, 1);
  EXPECT_TRUE(asker.RunCheck(plenty_, tag).allowed());  // MOVED
  EXPECT_EQ(asker.Used(plenty_, tag), 2);
}

class NoClusterTest : public RealRedisTest {};

TEST_F(NoClusterTest, FailsImmediatelyAndGetsNoOtherCommand) {
  redis::Options options;
  options.topology = redis::Topology::kCluster;
  options.seeds = {{"127.0.0.1", server_.port()}};
  Asker asker(loop_, options, kLong);
  asker.client().Connect();
  ASSERT_TRUE(asker.RunUntil([&] { return asker.client().state() == redis::State::kWaiting; }));
  const Asked& asked = asker.RunCheck(SlowBucket(5), "k");
  EXPECT_EQ(asked.call.error, ErrorCode::kStoreUnavailable);
  EXPECT_THAT(asker.client().last_error(), HasSubstr("cluster support disabled"));
  EXPECT_EQ(Do("DBSIZE"), "0");
}

}  // namespace
}  // namespace sluice::store::testing
