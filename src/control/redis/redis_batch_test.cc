// Writes of many records, which Redis stores in portions.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/redis/redis_control_store.h"
#include "redis/testing/redis_server.h"

namespace sluice::control {
namespace {

using redis::testing::RedisServer;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kMany = 2'000;
const AuditEvent kEvent{.action = "entry.batch"};
const std::string kKeys = "sluice:v1:control:{b}:";

std::vector<RecordWrite> Writes(const std::string& prefix, std::size_t count, bool remove = false) {
  std::vector<RecordWrite> writes;
  for (std::size_t i = 0; i < count; ++i) {
    writes.push_back({.kind = RecordKind::kEntry,
                      .id = prefix + std::to_string(i),
                      .text = remove ? "" : "{}",
                      .remove = remove});
  }
  return writes;
}

class RedisBatchTest : public ::testing::Test {
 protected:
  std::size_t CountRecords() {
    std::size_t count = 0;
    RecordCursor cursor;
    for (;;) {
      const auto page = store_.ReadRecords(cursor, kMaxRecordsPerPage);
      if (!page) {
        ADD_FAILURE() << page.error().message;
        return 0;
      }
      count += page->records.size();
      if (page->complete) return count;
      cursor = page->next;
    }
  }

  std::string Reply(const std::string& command) { return Describe(server_.Do(command).value()); }

  /// Leaves what a writer leaves that died right after its commit. `at`: of its last progress.
  void CommitBatch(const std::string& prefix, std::size_t count, const std::string& at) {
    const auto head = store_.ReadHead();
    ASSERT_TRUE(head);
    std::string values;
    for (const RecordWrite& write : Writes(prefix, count)) {
      values += " entry:" + write.id + " \"\" 0 + {}";
    }
    server_.Do("RPUSH " + kKeys + "staged:17" + values);
    server_.Do("HSET " + kKeys + "state format 1 epoch 1 batch 17 batch_sequence " +
               std::to_string(head->records.sequence) + " batch_time " +
               std::to_string(head->records.time.time_since_epoch().count()) + " batch_at " + at);
  }

  RedisServer server_;
  const RedisControlOptions options_{
      .redis = server_.ClientOptions(), .name = "b", .timeout = std::chrono::seconds(10)};
  RedisControlStore store_{options_};
};

TEST_F(RedisBatchTest, ManyRecordsAreOneWrite) {
  const auto first = store_.WriteRecords(Writes("a", 1), kEvent);
  ASSERT_TRUE(first) << first.error().message;
  const auto written = store_.WriteRecords(Writes("e", kMany), kEvent);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->outcome, RecordWriteOutcome::kWritten);
  EXPECT_EQ(written->first_sequence, 2U);
  EXPECT_EQ(written->cursor, store_.ReadHead()->records);
  EXPECT_EQ(CountRecords(), kMany + 1);
  EXPECT_EQ(store_.ReadAudit(0, 10)->size(), 2U);
  EXPECT_TRUE(server_.Says("HGET " + kKeys + "state count:entry", std::to_string(kMany + 1)));
  // Nothing of it stays behind.
  EXPECT_THAT(Reply("HKEYS " + kKeys + "state"),
              AllOf(HasSubstr("sequence"), Not(HasSubstr("batch"))));
  EXPECT_THAT(Reply("KEYS *"), AllOf(HasSubstr("changes"), Not(HasSubstr("staged"))));
  const auto removed = store_.WriteRecords(Writes("e", kMany, true), kEvent);
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_EQ(CountRecords(), 1U);
  EXPECT_TRUE(server_.Says("HGET " + kKeys + "state count:entry", "1"));
}

TEST_F(RedisBatchTest, ABatchWhoseWriterDiedIsStoredByAnotherProcess) {
  ASSERT_TRUE(store_.WriteRecords(Writes("a", 1), kEvent));
  const auto before = store_.ReadHead();
  CommitBatch("e", 1'200, "1");
  // Whoever reads the head notices; what it returns is the time before.
  EXPECT_EQ(store_.ReadHead()->records, before->records);
  const auto after = store_.ReadHead();
  EXPECT_EQ(after->records.sequence, before->records.sequence + 1'200);
  EXPECT_EQ(CountRecords(), 1'201U);
  const auto changes = store_.ReadRecords(before->records, 10);
  ASSERT_TRUE(changes);
  EXPECT_FALSE(changes->is_snapshot_start);
  EXPECT_EQ(changes->records.size(), 10U);
}

TEST_F(RedisBatchTest, ReadersSeeNothingOfABatchUntilItIsComplete) {
  ASSERT_TRUE(store_.WriteRecords(Writes("a", 1), kEvent));
  const auto before = store_.ReadHead();
  CommitBatch("e", 600, "99999999999999999");  // It makes progress.
  EXPECT_EQ(store_.ReadHead()->records, before->records);
  const auto page = store_.ReadRecords(before->records, 10);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(page->records.empty());
  EXPECT_TRUE(page->complete);
  EXPECT_EQ(page->next, before->records);
  // Records that the batch replaces would be missing in a snapshot.
  const auto snapshot = store_.ReadRecords({}, 10);
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().message, HasSubstr("not complete"));
  server_.Do("HSET " + kKeys + "state batch_at 1");
  static_cast<void>(store_.ReadHead());
  EXPECT_EQ(CountRecords(), 601U);
}

TEST_F(RedisBatchTest, OtherWritesFollowABatch) {
  CommitBatch("e", 600, "1");
  const auto written = store_.WriteRecords(Writes("a", 1), kEvent);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->first_sequence, 601U);
  CommitBatch("f", 600, "1");
  const auto many = store_.WriteRecords(Writes("g", 600), kEvent);
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(many->first_sequence, 1'202U);
  EXPECT_EQ(CountRecords(), 1'801U);
}

TEST_F(RedisBatchTest, ABatchWhoseWritesAreGoneBlocksNothing) {
  ASSERT_TRUE(store_.WriteRecords(Writes("a", 1), kEvent));
  CommitBatch("e", 1, "1");
  server_.Do("DEL " + kKeys + "staged:17");
  const auto lost = store_.WriteRecords(Writes("b", 1), kEvent);
  ASSERT_FALSE(lost);
  EXPECT_THAT(lost.error().message, HasSubstr("staged:17"));
  EXPECT_TRUE(store_.WriteRecords(Writes("b", 1), kEvent));
  EXPECT_EQ(CountRecords(), 2U);
}

TEST_F(RedisBatchTest, NearTheMostRecordsOfAKindTheyAreCountedExactly) {
  ASSERT_TRUE(store_.WriteRecords(Writes("e", 600), kEvent));
  server_.Do("HSET " + kKeys + "state count:entry 119999");
  const auto replaced = store_.WriteRecords(Writes("e", 600), kEvent);
  ASSERT_TRUE(replaced) << replaced.error().message;
  EXPECT_EQ(replaced->outcome, RecordWriteOutcome::kWritten);
  const auto more = store_.WriteRecords(Writes("f", 600), kEvent);
  ASSERT_TRUE(more) << more.error().message;
  EXPECT_EQ(more->outcome, RecordWriteOutcome::kTooMany);
  EXPECT_THAT(Reply("KEYS *"), AllOf(HasSubstr("changes"), Not(HasSubstr("staged"))));
}

}  // namespace
}  // namespace sluice::control
