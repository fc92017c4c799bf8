// A primary that sentinels watch over: found, lost, replaced, while calls go on.

#include <cstdint>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/testing/await.h"
#include "redis/testing/documented_user.h"
#include "redis/testing/sentinel_set.h"
#include "store/redis/testing/load.h"
#include "store/redis/testing/store_fixture.h"

namespace sluice::store::testing {
namespace {

using redis::testing::Await;
using redis::testing::DocumentedUser;
using redis::testing::Join;
using redis::testing::RedisServer;
using redis::testing::SentinelSet;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Micros kLong = seconds(20);

class RedisSentinelTest : public ::testing::Test {
 protected:
  net::Loop loop_;
  const Limit plenty_ = *Limit::FixedWindow({.limit = 1'000'000, .window = kMaxWindow});
};

TEST_F(RedisSentinelTest, AnySentinelCanReportThePrimary) {
  SentinelSet set;
  set.sentinel(0).Kill();
  set.sentinel(1).Freeze();
  Asker asker(loop_, set.ClientOptions(), kLong);
  EXPECT_TRUE(asker.RunCheck(plenty_, "k").allowed());
  EXPECT_EQ(set.server(0).Do("DBSIZE").value().integer(), 1);
}

TEST_F(RedisSentinelTest, AnUnknownNameFailsAtOnce) {
  SentinelSet set;
  redis::Options options = set.ClientOptions();
  options.sentinel.name = "absent";
  Asker asker(loop_, options, kLong);
  asker.client().Connect();
  ASSERT_TRUE(asker.RunUntil([&] { return !asker.client().last_error().empty(); }));
  EXPECT_THAT(asker.client().last_error(), HasSubstr("knows no primary named 'absent'"));
  EXPECT_EQ(asker.RunCheck(plenty_, "k").call.error, ErrorCode::kStoreUnavailable);
}

TEST_F(RedisSentinelTest, SentinelsAndServersHavePasswordsOfTheirOwn) {
  SentinelSet set({"requirepass server-secret", "masterauth server-secret"},
                  {"requirepass sentinel-secret", "sentinel sentinel-pass sentinel-secret",
                   "sentinel auth-pass mymaster server-secret"});
  redis::Options options = set.ClientOptions();
  options.password = redis::Secret("server-secret");
  {
    Asker asker(loop_, options, milliseconds(100));
    EXPECT_EQ(asker.RunCheck(plenty_, "k").call.error, ErrorCode::kStoreUnavailable);
    EXPECT_THAT(asker.client().last_error(),
                AllOf(HasSubstr("sentinel"), HasSubstr("NOAUTH"), Not(HasSubstr("secret"))));
  }
  const std::string file = (set.server(0).folder() / "sentinel-password").string();
  std::ofstream(file) << "sentinel-secret\n";
  options.sentinel.password_file = file;
  Asker asker(loop_, options, kLong);
  EXPECT_TRUE(asker.RunCheck(plenty_, "k").allowed()) << asker.client().last_error();
}

TEST_F(RedisSentinelTest, TheDocumentedUsersAreEnough) {
  SentinelSet set({"user sluice" + Join(DocumentedUser("pw")) + " +role"},
                  {"user watcher on >watch resetchannels &+switch-master nocommands "
                   "+sentinel|get-master-addr-by-name +subscribe +ping"});
  redis::Options options = set.ClientOptions();
  options.username = "sluice";
  options.password = redis::Secret("pw");
  options.sentinel.username = "watcher";
  options.sentinel.password = redis::Secret("watch");
  Asker asker(loop_, options, kLong);
  EXPECT_TRUE(asker.RunCheck(plenty_, "k").allowed()) << asker.client().last_error();
  EXPECT_TRUE(asker.RunUntil([&] {
    const resp::Reply clients = set.sentinel(0).Do("CLIENT LIST");
    return clients.value().text().find(" sub=1 ") != std::string_view::npos;
  }));
}

// The sentinels promote the replica without waiting for the primary to stop, so what is written
// meanwhile is lost: Redis promises no more.
TEST_F(RedisSentinelTest, AFailoverIsFollowed) {
  SentinelSet set;
  set.AwaitHealthy();
  Load load(loop_, set.ClientOptions(), kLong);
  load.Ask({&load.AddBudget("rule:limit", "k", plenty_)});
  load.During([&] {
    load.AwaitAllowed(300);
    set.Failover();
    Await("calls go to the new primary", [&] {
      return set.server(1).Do("INFO commandstats").value().text().find("cmdstat_evalsha") !=
             std::string_view::npos;
    });
    load.AwaitAllowed(300);
  });
  for (const auto& [code, count] : load.errors()) EXPECT_EQ(code, ErrorCode::kStoreTimeout);
}

// Nothing but the sentinels' message tells of it: the connection to the old one stays.
TEST_F(RedisSentinelTest, AFrozenPrimaryIsAbandonedWhenItIsReplaced) {
  SentinelSet set;
  set.AwaitHealthy();
  redis::Options options = set.ClientOptions();
  options.stall_timeout = seconds(300);
  Load load(loop_, options, milliseconds(100));
  load.Ask({&load.AddBudget("rule:limit", "k", plenty_)});
  load.During([&] {
    load.AwaitAllowed(300);
    set.server(0).Freeze();
    Await("the replica is the primary", [&] { return set.Primary() == 1; });
    load.AwaitAllowed(300);
  });
  set.server(0).Thaw();
  EXPECT_THAT(load.errors(), Not(IsEmpty()));
}

TEST_F(RedisSentinelTest, WhenThePrimaryIsKilledItsReplicaTakesOver) {
  SentinelSet set;
  set.AwaitHealthy();
  Load load(loop_, set.ClientOptions(), milliseconds(100));
  Budget& budget = load.AddBudget("rule:limit", "k", plenty_);
  load.Ask({&budget});
  load.During([&] {
    load.AwaitAllowed(300);
    set.server(0).Kill();
    Await("the replica is the primary", [&] { return set.Primary() == 1; });
    load.AwaitAllowed(1000);
  });
  for (const auto& [code, count] : load.errors()) {
    EXPECT_THAT(code, AnyOf(ErrorCode::kStoreTimeout, ErrorCode::kStoreUnavailable));
  }
  const auto timeouts = load.errors().find(ErrorCode::kStoreTimeout);
  const std::int64_t perhaps = timeouts == load.errors().end() ? 0 : timeouts->second;
  EXPECT_LE(load.Used(budget), budget.taken + perhaps);
  RecordProperty("lost",
                 static_cast<int>(std::max<std::int64_t>(budget.taken - load.Used(budget), 0)));

  Load after(loop_, set.ClientOptions(), kLong);
  Budget& fresh = after.AddBudget("rule:after", "k", plenty_);
  after.Ask({&fresh});
  after.During([&] { after.AwaitAllowed(300); });
  EXPECT_THAT(after.errors(), IsEmpty());
  EXPECT_EQ(after.Used(fresh), fresh.taken);
}

// A single sentinel whose primary is set by hand: only its reply announces the change.
TEST_F(RedisSentinelTest, AReadOnlyServerIsAbandonedForThePrimary) {
  RedisServer old_primary({.config = {"repl-diskless-sync-delay 0"}});
  RedisServer new_primary;
  const auto place_of = [](const RedisServer& server) {
    return "127.0.0.1 " + std::to_string(server.port());
  };
  RedisServer sentinel(
      {.config = {"sentinel monitor it " + place_of(old_primary) + " 1"}, .sentinel = true});
  redis::Options options;
  options.topology = redis::Topology::kSentinel;
  options.sentinel.name = "it";
  options.seeds = {{"127.0.0.1", sentinel.port()}};
  Asker asker(loop_, options, kLong);
  ASSERT_TRUE(asker.RunCheck(plenty_, "k").allowed());

  sentinel.Do("SENTINEL REMOVE it");
  sentinel.Do("SENTINEL MONITOR it " + place_of(new_primary) + " 1");
  old_primary.Do("REPLICAOF " + place_of(new_primary));
  std::vector<Asked*> asked;
  for (int i = 0; i < 20; ++i) asked.push_back(&asker.Check(plenty_, "k"));
  ASSERT_TRUE(asker.WaitForAll());
  for (const Asked* one : asked) EXPECT_TRUE(one->allowed()) << ErrorName(one->call.error);
  EXPECT_EQ(new_primary.Do("DBSIZE").value().integer(), 1);
  EXPECT_EQ(asker.Used(plenty_, "k"), 20);
}

// A sentinel may be behind: it is not believed.
TEST_F(RedisSentinelTest, AReplicaIsNotUsedAsThePrimary) {
  RedisServer primary;
  RedisServer replica({.config = {"replicaof 127.0.0.1 " + std::to_string(primary.port())}});
  RedisServer sentinel(
      {.config = {"sentinel monitor it 127.0.0.1 " + std::to_string(replica.port()) + " 1"},
       .sentinel = true});
  redis::Options options;
  options.topology = redis::Topology::kSentinel;
  options.sentinel.name = "it";
  options.seeds = {{"127.0.0.1", sentinel.port()}};
  Asker asker(loop_, options, milliseconds(300));
  const Asked& asked = asker.RunCheck(plenty_, "k");
  EXPECT_EQ(asked.call.error, ErrorCode::kStoreUnavailable);
  EXPECT_THAT(asker.client().last_error(), HasSubstr("its role is slave"));
}

}  // namespace
}  // namespace sluice::store::testing
