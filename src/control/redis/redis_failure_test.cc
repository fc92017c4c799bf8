// Redis that is killed, frozen, flushed, read-only, failed over, or holds the values of others.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/redis/redis_control_store.h"
#include "control/testing/conformance.h"
#include "redis/slot.h"
#include "redis/testing/await.h"
#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"
#include "redis/testing/sentinel_set.h"
#include "redis/testing/tcp_proxy.h"

namespace sluice::control {
namespace {

using redis::testing::Await;
using redis::testing::RedisCluster;
using redis::testing::RedisServer;
using redis::testing::SentinelSet;
using redis::testing::TcpProxy;
using testing::CommitText;
using testing::FindHistoryProblem;
using ::testing::HasSubstr;
using testing::NextVersion;

class RedisFailureTest : public ::testing::Test {
 protected:
  RedisControlOptions Options(Micros timeout = std::chrono::seconds(10)) {
    return {.redis = server_.ClientOptions(), .name = "f", .timeout = timeout};
  }

  RedisServer server_{{.config = {"enable-debug-command yes"}}};
};

TEST_F(RedisFailureTest, AKilledServerIsUnavailableAndBackAfterItsRestart) {
  RedisControlStore store(Options(std::chrono::milliseconds(300)));
  const VersionRef ref = CommitText(store, "one");
  server_.Do("SAVE");
  server_.Kill();
  const auto current = store.ReadCurrent();
  ASSERT_FALSE(current);
  const auto commit = store.Commit(NextVersion(ref, "two"), ref, {.action = "rules.commit"});
  ASSERT_FALSE(commit);
  EXPECT_EQ(commit.error().code, ErrorCode::kStoreUnavailable) << commit.error().message;
  server_.Start();
  Await("the store is back", [&] { return store.ReadCurrent().ok(); });
  EXPECT_EQ(**store.ReadCurrent(), ref);
  CommitText(store, "two");
  EXPECT_EQ(FindHistoryProblem(store), "");
}

TEST_F(RedisFailureTest, AFlushedStoreIsEmptyAndNoError) {
  RedisControlStore store(Options());
  CommitText(store, "one");
  server_.Do("FLUSHALL");
  EXPECT_EQ(*store.ReadCurrent(), std::nullopt);
  CommitText(store, "anew");
  EXPECT_EQ(store.ReadAudit(0, 10)->size(), 1U);
  EXPECT_EQ(FindHistoryProblem(store), "");
}

TEST_F(RedisFailureTest, AReadOnlyReplicaRefusesAndChangesNothing) {
  RedisControlStore store(Options(std::chrono::milliseconds(200)));
  const VersionRef ref = CommitText(store, "one");
  server_.Do("CONFIG SET replica-serve-stale-data yes");
  server_.Do("REPLICAOF 127.0.0.1 1");
  const auto commit = store.Commit(NextVersion(ref, "two"), ref, {.action = "rules.commit"});
  ASSERT_FALSE(commit);
  EXPECT_EQ(commit.error().code, ErrorCode::kStoreError);
  EXPECT_THAT(commit.error().message, HasSubstr("READONLY"));
  EXPECT_EQ(**store.ReadCurrent(), ref);
  server_.Do("REPLICAOF NO ONE");
  CommitText(store, "two");
}

TEST_F(RedisFailureTest, AFullServerRefusesAndChangesNothing) {
  RedisControlStore store(Options());
  const VersionRef ref = CommitText(store, "one");
  server_.Do("CONFIG SET maxmemory 1");
  const auto commit = store.Commit(NextVersion(ref, "two"), ref, {.action = "rules.commit"});
  ASSERT_FALSE(commit);
  EXPECT_EQ(commit.error().code, ErrorCode::kStoreError);
  EXPECT_THAT(commit.error().message, HasSubstr("OOM"));
  server_.Do("CONFIG SET maxmemory 0");
  EXPECT_EQ(**store.ReadCurrent(), ref);
  EXPECT_EQ(FindHistoryProblem(store), "");
}

TEST_F(RedisFailureTest, AFrozenServerTimesOutWithinABoundedTime) {
  RedisControlStore store(Options(std::chrono::milliseconds(100)));
  const VersionRef ref = CommitText(store, "one");
  server_.Freeze();
  const auto commit = store.Commit(NextVersion(ref, "two"), ref, {.action = "rules.commit"});
  server_.Thaw();
  ASSERT_FALSE(commit);
  EXPECT_EQ(commit.error().code, ErrorCode::kStoreTimeout);
  Await("the store is back", [&] { return store.ReadCurrent().ok(); });
  EXPECT_EQ(FindHistoryProblem(store), "");
}

RecordWrite EntryWrite(std::string id, std::string text) {
  return {.kind = RecordKind::kEntry, .id = std::move(id), .text = std::move(text)};
}

Result<RecordWriteResult> WriteEntry(RedisControlStore& store, std::string id, std::string text) {
  return store.WriteRecords(std::vector{EntryWrite(std::move(id), std::move(text))},
                            {.action = "entry.put"});
}

TEST_F(RedisFailureTest, AWriteOfRecordsIsRefusedWithoutAChangeByAFullOrReadOnlyServer) {
  RedisControlStore store(Options(std::chrono::milliseconds(500)));
  ASSERT_TRUE(WriteEntry(store, "a", "1"));
  const RecordCursor before = store.ReadHead()->records;
  const auto expect_refused = [&](const char* reason) {
    const auto refused = WriteEntry(store, "a", "2");
    ASSERT_FALSE(refused) << reason;
    EXPECT_EQ(refused.error().code, ErrorCode::kStoreError) << reason;
    EXPECT_THAT(refused.error().message, HasSubstr(reason));
  };
  server_.Do("CONFIG SET maxmemory 1");
  expect_refused("OOM");
  server_.Do("CONFIG SET maxmemory 0");
  server_.Do("CONFIG SET replica-serve-stale-data yes");
  server_.Do("REPLICAOF 127.0.0.1 1");
  expect_refused("READONLY");
  server_.Do("REPLICAOF NO ONE");
  EXPECT_EQ(store.ReadHead()->records, before);
  EXPECT_EQ(store.ReadAudit(0, 10)->size(), 1U);
  EXPECT_TRUE(WriteEntry(store, "a", "2"));
}

TEST_F(RedisFailureTest, ARestoreThatIsInterruptedLeavesTheRecordsAsTheyWere) {
  RedisControlStore store(Options());
  ASSERT_TRUE(WriteEntry(store, "a", "1"));
  const RecordCursor head = store.ReadHead()->records;
  const std::vector<Record> records(3000,
                                    Record{.kind = RecordKind::kEntry, .id = "same", .text = "1"});
  // Fewer records than announced have arrived.
  const auto restored = store.RestoreRecords(records, head, {.epoch = 2, .sequence = 10}, {});
  ASSERT_FALSE(restored);
  EXPECT_THAT(restored.error().message, HasSubstr("not complete"));
  EXPECT_EQ(store.ReadHead()->records, head);
  const RecordTable table = testing::ReadRecordTable(store);
  EXPECT_EQ(table.size(), 1U);
}

TEST_F(RedisFailureTest, AFlushedStoreHasNoRecordsAndKnowsThatACursorIsOfAnotherHistory) {
  RedisControlStore store(Options());
  ASSERT_TRUE(WriteEntry(store, "a", "1"));
  const auto cursor = WriteEntry(store, "b", "1")->cursor;
  server_.Do("FLUSHALL");
  EXPECT_EQ(store.ReadHead()->records.sequence, 0U);
  EXPECT_TRUE(store.ReadRecords(cursor, 10)->diverged);
  ASSERT_TRUE(WriteEntry(store, "c", "1"));
  ASSERT_TRUE(WriteEntry(store, "d", "1"));
  ASSERT_TRUE(WriteEntry(store, "e", "1"));
  EXPECT_TRUE(store.ReadRecords(cursor, 10)->diverged);
}

TEST_F(RedisFailureTest, AWriteOfRecordsWhoseReplyIsLostIsRecognizedByItsNonce) {
  TcpProxy proxy(server_.port());
  RedisControlOptions options = Options();
  options.redis.port = proxy.port();
  RedisControlStore store(options);
  ASSERT_TRUE(WriteEntry(store, "e", "0"));
  int recognized = 0;
  for (int i = 1; i <= 10; ++i) {
    std::thread cutter([&, i] {
      Await("the write has happened", [&] {
        return server_.Says("HGET sluice:v1:control:{f}:state sequence", std::to_string(i + 1));
      });
      proxy.CutAll();
      proxy.BeTransparent();
    });
    proxy.SetDelay(std::chrono::milliseconds(50));
    const auto result = WriteEntry(store, "e", std::to_string(i));
    cutter.join();
    if (result) {
      ++recognized;
      EXPECT_EQ(result->cursor.sequence, static_cast<std::uint64_t>(i + 1));
      EXPECT_EQ(result->first_sequence, static_cast<std::uint64_t>(i + 1));
    }
    Await("the store is back", [&] { return store.ReadHead().ok(); });
    EXPECT_EQ(store.ReadHead()->records.sequence, static_cast<std::uint64_t>(i + 1));
  }
  EXPECT_GT(recognized, 0);
  EXPECT_EQ(FindHistoryProblem(store), "");
}

// The reply is lost, but the commit has happened: it is neither sent again nor reported as failed.
TEST_F(RedisFailureTest, ACommitWhoseReplyIsLostIsRecognizedByItsNonce) {
  TcpProxy proxy(server_.port());
  RedisControlOptions options = Options();
  options.redis.port = proxy.port();
  RedisControlStore store(options);
  VersionRef ref = CommitText(store, "version 0");
  int recognized = 0;
  for (int i = 1; i <= 10; ++i) {
    // The script's reply is the first one that a delayed proxy passes on too late.
    std::thread cutter([&, i] {
      const std::string id = "1." + std::to_string(i + 1);
      Await("the commit has happened",
            [&] { return server_.Says("GET sluice:v1:control:{f}:current", id); });
      proxy.CutAll();
      proxy.BeTransparent();
    });
    proxy.SetDelay(std::chrono::milliseconds(50));
    const Version version = NextVersion(ref, "version " + std::to_string(i));
    const auto result = store.Commit(version, ref, {.action = "rules.commit"});
    cutter.join();
    if (result) {
      EXPECT_TRUE(result->committed);
      ++recognized;
    } else {
      EXPECT_EQ(result.error().code, ErrorCode::kStoreTimeout) << result.error().message;
    }
    Await("the store is back", [&] { return store.ReadCurrent().ok(); });
    ref = **store.ReadCurrent();
    EXPECT_EQ(ref, version.info.ref);
  }
  EXPECT_GT(recognized, 0);
  EXPECT_EQ(store.ReadAudit(0, 100)->size(), 11U) << "a commit was sent twice";
  EXPECT_EQ(FindHistoryProblem(store), "");
}

TEST_F(RedisFailureTest, ValuesOfOthersAreErrorsAndStay) {
  RedisControlStore store(Options());
  const std::string prefix = "sluice:v1:control:{f}:";
  const Version version = NextVersion({}, "one");
  for (const char* key : {"current", "versions", "texts", "ids", "audit"}) {
    server_.Do("FLUSHALL");
    server_.Do("ZADD " + prefix + key + " 1 somebody");
    const auto commit = store.Commit(version, std::nullopt, {.action = "rules.commit"});
    ASSERT_FALSE(commit) << key;
    EXPECT_EQ(commit.error().code, ErrorCode::kForeignValue) << commit.error().message;
    EXPECT_EQ(server_.Do("DBSIZE").value().integer(), 1) << key;
  }
  EXPECT_EQ(store.AppendAudit({}).error().code, ErrorCode::kForeignValue);
  server_.Do("FLUSHALL");
  for (const char* value : {"garbage", "1", "\"1 1.1\"", "\"1 0.1 abc\"", "\"x 1.1 abc\""}) {
    server_.Do("SET " + prefix + "current " + value);
    ASSERT_FALSE(store.ReadCurrent()) << value;
    EXPECT_EQ(store.ReadCurrent().error().code, ErrorCode::kForeignValue) << value;
  }
  server_.Do("SET " + prefix + "current \"2 1.1 abc later\"");
  EXPECT_EQ(store.ReadCurrent().error().code, ErrorCode::kStoreError);
  EXPECT_THAT(store.ReadCurrent().error().message, HasSubstr("newer than this build"));
  server_.Do("RPUSH " + prefix + "audit garbage");
  EXPECT_EQ(store.ReadAudit(0, 10).error().code, ErrorCode::kForeignValue);
  server_.Do("HSET " + prefix + "versions 1.1 garbage");
  EXPECT_EQ(store.ListVersions().error().code, ErrorCode::kForeignValue);
  EXPECT_EQ(store.ReadVersion({.epoch = 1, .number = 1}).error().code, ErrorCode::kForeignValue);
}

TEST_F(RedisFailureTest, AChangedTextIsNotHandedOut) {
  RedisControlStore store(Options());
  const VersionRef ref = CommitText(store, "one");
  server_.Do("HSET sluice:v1:control:{f}:texts 1.1 changed");
  EXPECT_EQ(store.ReadVersion(ref.id).error().code, ErrorCode::kForeignValue);
}

TEST_F(RedisFailureTest, TheNodeOfANewerBuildIsListed) {
  RedisControlStore store(Options());
  ASSERT_TRUE(store.WriteNode({.id = "a"}));
  server_.Do("HSET sluice:v1:control:{f}:nodes b \"5 {\\\"format\\\":2}\"");
  const auto nodes = store.ListNodes();
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  EXPECT_EQ((*nodes)[1].id, "b");
  EXPECT_EQ((*nodes)[1].last_seen, WallTime{Micros{5}});
}

TEST_F(RedisFailureTest, NodesThatWereNotSeenForLongAreRemovedByOthers) {
  RedisControlStore store(Options());
  ASSERT_TRUE(store.WriteNode({.id = "gone"}));
  server_.Do("ZADD sluice:v1:control:{f}:seen 1 gone");
  ASSERT_TRUE(store.WriteNode({.id = "here"}));
  ASSERT_EQ(store.ListNodes()->size(), 1U);
  EXPECT_EQ(store.ListNodes()->front().id, "here");
  EXPECT_EQ(server_.Do("ZCARD sluice:v1:control:{f}:seen").value().integer(), 1);
}

TEST_F(RedisFailureTest, TheLastHundredThousandRecordsAreKept) {
  RedisControlStore store(Options());
  // Records before the last are not looked at.
  server_.Do(
      "EVAL \"for i = 1, 100000 do redis.call('RPUSH', KEYS[1], '{}') end\" 1 "
      "sluice:v1:control:{f}:audit");
  const std::string last = R"({\"sequence\":100001,\"format\":1,\"hash\":\"x\"})";
  server_.Do("RPUSH sluice:v1:control:{f}:audit \"" + last + '"');
  const auto next = store.AppendAudit({.action = "next"});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->sequence, 100'002U);
  EXPECT_EQ(next->previous_hash, "x");
  EXPECT_EQ(server_.Do("LLEN sluice:v1:control:{f}:audit").value().integer(), 100'000);
  EXPECT_EQ(store.ReadAudit(0, 2)->size(), 2U);
}

/// Counts the notifications of a store.
class Notifications {
 public:
  explicit Notifications(ControlStore& store) {
    store.OnNotification([this] { ++count_; });
  }
  void AwaitMoreThan(int count) {
    Await("a notification", [&] { return count_ > count; });
  }
  [[nodiscard]] int count() const { return count_; }

 private:
  std::atomic<int> count_ = 0;
};

void ExpectNotifications(const redis::Options& options) {
  RedisControlStore committer({.redis = options, .timeout = std::chrono::seconds(10)});
  RedisControlStore other({.redis = options, .timeout = std::chrono::seconds(10)});
  Notifications notifications(other);
  notifications.AwaitMoreThan(0);  // Of the connect.
  const int before = notifications.count();
  CommitText(committer, "one");
  notifications.AwaitMoreThan(before);
  other.OnNotification({});
}

TEST_F(RedisFailureTest, ACommitNotifiesOthersAndEachConnectDoesToo) {
  ExpectNotifications(server_.ClientOptions());
  RedisControlStore store(Options());
  Notifications notifications(store);
  notifications.AwaitMoreThan(0);
  const int before = notifications.count();
  server_.Do("CLIENT KILL TYPE pubsub");
  notifications.AwaitMoreThan(before);
  store.OnNotification({});
}

TEST(RedisControlCluster, ACommitNotifiesOthersWhateverServerTheyAreConnectedTo) {
  const RedisCluster cluster(RedisCluster::Replicas::kNone);
  ExpectNotifications(cluster.ClientOptions());
}

/// Commits until a replica has confirmed one; on a busy machine that may take a few, also because
/// the replica is away for a moment.
VersionRef CommitReplicated(ControlStore& store) {
  std::optional<VersionRef> ref;
  Await("a replicated commit", [&] {
    const Version version = NextVersion(ref, "replicated");
    const auto result = store.Commit(version, ref, {.action = "rules.commit"});
    EXPECT_TRUE(result && result->committed);
    ref = version.info.ref;
    return result->replicated.value_or(false);
  });
  return *ref;
}

TEST(RedisControlCluster, AFailoverKeepsAReplicatedCommit) {
  RedisCluster cluster;
  cluster.AwaitHealthy();
  RedisControlStore store(
      {.redis = cluster.ClientOptions(), .name = "f", .timeout = std::chrono::seconds(10)});
  const VersionRef replicated = CommitReplicated(store);
  const std::size_t owner = cluster.OwnerOf(redis::SlotOf("sluice:v1:control:{f}:current"), 0);
  cluster.FailOver(owner + RedisCluster::kPrimaries);
  Await("the store is back", [&] { return store.ReadCurrent().ok(); });
  EXPECT_EQ(*store.ReadCurrent(), replicated);
  CommitText(store, "after");
  EXPECT_EQ(FindHistoryProblem(store), "");
}

TEST(RedisControlSentinel, AFailoverKeepsAReplicatedCommit) {
  SentinelSet sentinels;
  sentinels.AwaitHealthy();
  RedisControlStore store(
      {.redis = sentinels.ClientOptions(), .name = "f", .timeout = std::chrono::seconds(10)});
  const VersionRef replicated = CommitReplicated(store);
  sentinels.server(sentinels.Primary()).Kill();
  Await("the store is back", [&] { return store.ReadCurrent().ok(); });
  EXPECT_EQ(*store.ReadCurrent(), replicated);
  CommitText(store, "after");
  EXPECT_EQ(FindHistoryProblem(store), "");
}

TEST(RedisControlSentinel, ACommitWithoutAReachableReplicaSaysSo) {
  SentinelSet sentinels;
  sentinels.AwaitHealthy();
  const std::size_t primary = sentinels.Primary();
  RedisControlStore store(
      {.redis = sentinels.ClientOptions(), .name = "f", .timeout = std::chrono::seconds(10)});
  const VersionRef ref = CommitReplicated(store);  // So the primary knows the replica.
  sentinels.server(1 - primary).Freeze();
  const auto result = store.Commit(NextVersion(ref, "two"), ref, {.action = "rules.commit"});
  sentinels.server(1 - primary).Thaw();
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->committed);
  EXPECT_EQ(result->replicated, false);
}

TEST_F(RedisFailureTest, AServerWithoutReplicasDoesNotSayWhetherACommitIsReplicated) {
  RedisControlStore store(Options());
  const auto result = store.Commit(NextVersion({}, "one"), std::nullopt, {});
  ASSERT_TRUE(result);
  EXPECT_EQ(result->replicated, std::nullopt);
}

}  // namespace
}  // namespace sluice::control
