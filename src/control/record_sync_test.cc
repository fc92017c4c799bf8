#include "control/record_sync.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "control/rule_sync.h"
#include "control/testing/conformance.h"
#include "control/testing/fake_control_store.h"

namespace sluice::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::FakeControlStore;
using testing::FindHistoryProblem;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

const Error kStoreAway{ErrorCode::kStoreUnavailable, "127.0.0.1:6379: connection refused"};

class RecordCopy final : public LastGoodCopy {
 public:
  RecordTable records;
  std::optional<Error> failure;

  Result<std::optional<Version>> Load() override { return std::optional<Version>(); }
  std::optional<Error> Save(const Version& /*version*/) override { return std::nullopt; }
  Result<RecordTable> LoadRecords() override { return records; }
  std::optional<Error> SaveRecords(const RecordTable& saved, std::span<const Record> /*changes*/,
                                   bool /*complete*/) override {
    if (!failure) records = saved;
    return failure;
  }
};

/// A node whose rules come from a file: its state is the texts of the records that were delivered.
class RecordNode {
 public:
  RecordNode(FakeControlStore& store, std::string id, const Clock& clock)
      : id_(std::move(id)),
        sync_(store, &copy, {.node = {.id = id_}, .follow_rules = false},
              {.on_records = [this](const RecordChanges& changes) { Take(changes); },
               .on_event = [this](const SyncEvent& event) { events.push_back(event.kind); },
               .random = [] { return 0; },
               .wall_now = [&clock] { return clock.Now(); }}) {}

  void Step(SteadyTime now) { due = sync_.Step(now); }
  [[nodiscard]] RecordSync& sync() { return sync_.records(); }
  [[nodiscard]] SyncStats Stats() const { return sync_.Stats(); }

  std::map<std::string, std::string> entries;
  int deliveries = 0;
  std::vector<SyncEventKind> events;
  RecordCopy copy;
  SteadyTime due{};

 private:
  void Take(const RecordChanges& changes) {
    ++deliveries;
    if (changes.complete) entries.clear();
    for (const Record& record : changes.records) {
      if (record.removed) {
        entries.erase(record.id);
      } else {
        entries[record.id] = record.text;
      }
    }
  }

  const std::string id_;
  RuleSync sync_;
};

class RecordSyncTest : public ::testing::Test {
 protected:
  RecordNode& Add(const std::string& id) {
    RecordNode& node = nodes_.emplace_back(store_, id, clock_);
    node.due = now_;
    return node;
  }

  /// Lets time pass, and every node do what is due.
  void Run(Micros time) {
    const SteadyTime end = now_ + time;
    for (;;) {
      RecordNode* next = nullptr;
      for (RecordNode& node : nodes_) {
        if (node.due <= end && (next == nullptr || node.due < next->due)) next = &node;
      }
      if (next == nullptr) break;
      clock_.Advance(std::max(next->due - now_, Micros(0)));
      now_ = std::max(now_, next->due);
      next->Step(now_);
    }
    clock_.Advance(end - now_);
    now_ = end;
  }

  RecordCursor Put(const std::string& id, const std::string& text,
                   std::optional<Micros> lifetime = {}) {
    RecordWrite write{.kind = RecordKind::kEntry, .id = id, .text = text};
    if (lifetime) write.expires_at = clock_.Now() + *lifetime;
    return Write(write);
  }
  RecordCursor Remove(const std::string& id) {
    return Write({.kind = RecordKind::kEntry, .id = id, .remove = true});
  }
  RecordCursor Write(const RecordWrite& write) {
    const auto result = store_.WriteRecords(std::vector{write}, {.action = "entry.put"});
    EXPECT_TRUE(result && result->outcome == RecordWriteOutcome::kWritten);
    return result->cursor;
  }
  std::vector<std::string> Actions() {
    std::vector<std::string> actions;
    const auto audit = store_.ReadAudit(0, 100);
    for (const AuditRecord& record : *audit) actions.push_back(record.event.action);
    return actions;
  }

  FakeClock clock_{WallTime{std::chrono::hours(24 * 365 * 50)}};
  SteadyTime now_{seconds(1000)};
  FakeControlStore store_{clock_};
  std::deque<RecordNode> nodes_;
};

TEST_F(RecordSyncTest, ARecordIsDeliveredOnEveryNodeWithinTwoSeconds) {
  RecordNode& a = Add("a");
  RecordNode& b = Add("b");
  Run(seconds(1));
  EXPECT_EQ(a.deliveries, 0);
  Put("x", "1");
  Run(milliseconds(1100));
  EXPECT_THAT(a.entries, ElementsAre(Pair("x", "1")));
  EXPECT_THAT(b.entries, ElementsAre(Pair("x", "1")));
  Put("y", "1");
  Remove("x");
  Run(milliseconds(1100));
  EXPECT_THAT(a.entries, ElementsAre(Pair("y", "1")));
  EXPECT_THAT(b.entries, ElementsAre(Pair("y", "1")));
}

TEST_F(RecordSyncTest, RecordsAreReadOnlyWhenTheyHaveChanged) {
  Put("x", "1");
  Add("a");
  Run(seconds(10));
  EXPECT_EQ(store_.record_reads(), 1);
}

TEST_F(RecordSyncTest, ChangesAreDeliveredAtMostTenTimesASecond) {
  RecordNode& a = Add("a");
  Run(milliseconds(1));
  for (int i = 0; i < 200; ++i) {
    Put("x", std::to_string(i));
    a.due = now_;  // A notification.
    Run(milliseconds(10));
  }
  EXPECT_LE(a.deliveries, 21);
  EXPECT_GE(a.deliveries, 19);
  Run(milliseconds(100));
  EXPECT_THAT(a.entries, ElementsAre(Pair("x", "199")));
}

TEST_F(RecordSyncTest, AnExpiredRecordIsRemovedInTimeAndOneNodeRecordsIt) {
  RecordNode& a = Add("a");
  RecordNode& b = Add("b");
  Put("x", "1", milliseconds(2500));
  Put("y", "1");
  Run(milliseconds(2499));
  EXPECT_THAT(a.entries, Contains(Pair("x", "1")));
  EXPECT_TRUE(a.sync().Find(RecordKind::kEntry, "x"));
  Run(milliseconds(101));
  EXPECT_THAT(a.entries, ElementsAre(Pair("y", "1")));
  EXPECT_THAT(b.entries, ElementsAre(Pair("y", "1")));
  EXPECT_FALSE(a.sync().Find(RecordKind::kEntry, "x"));
  Run(seconds(10));
  EXPECT_EQ(std::ranges::count(Actions(), "entry.expire"), 1);
  EXPECT_EQ(store_.ReadAudit(0, 1)->front().event.target, "x");
  EXPECT_EQ(testing::ReadRecordTable(store_).size(), 1U);
}

TEST_F(RecordSyncTest, ARecordThatWasRenewedDoesNotExpire) {
  RecordNode& a = Add("a");
  Put("x", "1", seconds(2));
  Run(seconds(1));
  Put("x", "2", seconds(60));
  Run(seconds(10));
  EXPECT_THAT(a.entries, ElementsAre(Pair("x", "2")));
  EXPECT_THAT(Actions(), Not(Contains("entry.expire")));
}

TEST_F(RecordSyncTest, RecordsExpireWhileTheStoreIsAway) {
  RecordNode& a = Add("a");
  Put("x", "1", seconds(5));
  Put("y", "1");
  Run(seconds(1));
  store_.SetFailure(kStoreAway);
  Run(seconds(3));
  EXPECT_THAT(a.entries, Contains(Pair("x", "1")));
  Run(seconds(3));
  EXPECT_THAT(a.entries, ElementsAre(Pair("y", "1")));
}

TEST_F(RecordSyncTest, AStartWithoutTheStoreUsesTheCopy) {
  RecordNode& a = Add("a");
  Put("x", "1");
  Put("gone", "1", seconds(2));
  Run(seconds(1));
  store_.SetFailure(kStoreAway);
  clock_.Advance(seconds(5));
  RecordNode& restarted = Add("b");
  restarted.copy.records = a.copy.records;
  Run(seconds(1));
  EXPECT_THAT(restarted.entries, ElementsAre(Pair("x", "1")));
  EXPECT_TRUE(restarted.Stats().records.from_copy);
  store_.SetFailure(std::nullopt);
  Put("y", "1");
  Run(seconds(2));
  EXPECT_THAT(restarted.entries, ElementsAre(Pair("x", "1"), Pair("y", "1")));
  EXPECT_FALSE(restarted.Stats().records.from_copy);
}

TEST_F(RecordSyncTest, AFlushedStoreGetsItsRecordsBackInANewEpoch) {
  RecordNode& a = Add("a");
  RecordNode& b = Add("b");
  Put("x", "1");
  Put("y", "1");
  Run(seconds(2));
  store_.SetContent({});
  Run(milliseconds(1200));
  EXPECT_THAT(a.entries, ElementsAre(Pair("x", "1"), Pair("y", "1"))) << "never without blocks";
  Run(seconds(3));
  const RecordTable stored = testing::ReadRecordTable(store_);
  EXPECT_EQ(stored.cursor().epoch, 2U);
  EXPECT_EQ(stored.size(), 2U);
  EXPECT_THAT(a.entries, ElementsAre(Pair("x", "1"), Pair("y", "1")));
  EXPECT_THAT(b.entries, ElementsAre(Pair("x", "1"), Pair("y", "1")));
  EXPECT_THAT(a.events, Contains(SyncEventKind::kRecordsLost));
  EXPECT_EQ(a.Stats().records.restores + b.Stats().records.restores, 1U);
  EXPECT_THAT(Actions(), ElementsAre("records.recover"));
  Put("z", "1");
  Run(seconds(2));
  EXPECT_THAT(b.entries, Contains(Pair("z", "1")));
}

TEST_F(RecordSyncTest, TheLiveNodeWithTheNewestPositionRestores) {
  RecordNode& behind = Add("a");
  RecordNode& newest = Add("b");
  Put("x", "1");
  Run(seconds(2));
  Put("y", "1");
  behind.due = now_ + std::chrono::hours(1);  // It does not get to read it.
  Run(seconds(2));
  EXPECT_THAT(newest.entries, Contains(Pair("y", "1")));
  store_.SetContent({});
  behind.due = now_;
  Run(seconds(5));
  EXPECT_THAT(testing::ReadRecordTable(store_).List(), ::testing::SizeIs(2));
  EXPECT_EQ(newest.Stats().records.restores, 1U);
  EXPECT_THAT(behind.entries, ElementsAre(Pair("x", "1"), Pair("y", "1")));
}

// A replica that lacks the last writes becomes the primary, and is written to before a node
// restores the lost ones.
TEST_F(RecordSyncTest, AfterALossyFailoverLostWritesAndNewOnesAreBothInForce) {
  RecordNode& a = Add("a");
  Put("kept", "1");
  Put("changed", "old");
  Put("removed", "1");
  Run(seconds(2));
  const FakeControlStore::Content replica = store_.GetContent();
  clock_.Advance(seconds(1));
  Put("lost", "1");
  Put("changed", "lost");
  Remove("kept");
  a.due = now_;
  Run(seconds(2));
  EXPECT_THAT(a.entries,
              ElementsAre(Pair("changed", "lost"), Pair("lost", "1"), Pair("removed", "1")));
  store_.SetContent(replica);
  Put("changed", "newer");
  Remove("removed");
  a.due = now_;
  Run(seconds(5));
  EXPECT_THAT(a.entries, ElementsAre(Pair("changed", "newer"), Pair("lost", "1")));
  EXPECT_EQ(testing::ReadRecordTable(store_).size(), 2U);
  EXPECT_EQ(testing::ReadRecordTable(store_).cursor().epoch, 2U);
}

// More was written after the failover than was lost, so that the numbers alone don't show it.
TEST_F(RecordSyncTest, ALossThatLaterWritesHideIsDetected) {
  RecordNode& a = Add("a");
  Put("x", "1");
  Run(seconds(2));
  const FakeControlStore::Content replica = store_.GetContent();
  Put("lost", "1");
  a.due = now_;
  Run(seconds(1));
  store_.SetContent(replica);
  clock_.Advance(seconds(1));
  for (int i = 0; i < 5; ++i) Put("new" + std::to_string(i), "1");
  a.due = now_;
  Run(seconds(5));
  EXPECT_THAT(a.entries, Contains(Pair("lost", "1")));
  EXPECT_THAT(a.entries, ::testing::SizeIs(7));
  EXPECT_EQ(testing::ReadRecordTable(store_).size(), 7U);
}

TEST_F(RecordSyncTest, AnEmptyStoreGetsTheCopyOfAStartingNode) {
  RecordNode& a = Add("a");
  Put("x", "1");
  Run(seconds(1));
  const RecordTable copy = a.copy.records;
  nodes_.clear();
  store_.SetContent({});
  RecordNode& b = Add("b");
  b.copy.records = copy;
  Run(seconds(3));
  EXPECT_THAT(b.entries, ElementsAre(Pair("x", "1")));
  EXPECT_EQ(testing::ReadRecordTable(store_).size(), 1U);
}

TEST_F(RecordSyncTest, ACopyNeverReplacesRecordsOfTheStore) {
  RecordNode& a = Add("a");
  for (int i = 0; i < 5; ++i) Put("alien" + std::to_string(i), "1");
  Run(seconds(1));
  const RecordTable copy = a.copy.records;
  nodes_.clear();
  store_.SetContent({});
  clock_.Advance(seconds(1));
  Put("x", "1");
  RecordNode& b = Add("b");
  b.copy.records = copy;
  Run(seconds(3));
  EXPECT_THAT(b.entries, ElementsAre(Pair("x", "1")));
  EXPECT_EQ(testing::ReadRecordTable(store_).size(), 1U);
}

TEST_F(RecordSyncTest, AnUnwritableCopyIsReportedOnce) {
  RecordNode& a = Add("a");
  a.copy.failure = Error{ErrorCode::kStoreError, "disk full"};
  for (int i = 0; i < 5; ++i) {
    Put("x", std::to_string(i));
    Run(seconds(1));
  }
  EXPECT_EQ(std::ranges::count(a.events, SyncEventKind::kCopyFailed), 1);
  a.copy.failure.reset();
  Put("y", "1");
  Run(seconds(1));
  EXPECT_EQ(a.copy.records.size(), 2U);
}

TEST_F(RecordSyncTest, RecordsAreListedByIdInPages) {
  RecordNode& a = Add("a");
  for (const char* const id : {"c", "a", "d", "b"}) Put(id, "1");
  Run(seconds(1));
  const auto ids = [&](std::string_view after, std::size_t limit) {
    std::string text;
    for (const Record& record : a.sync().List(RecordKind::kEntry, after, limit, {})) {
      text += record.id;
    }
    return text;
  };
  EXPECT_EQ(ids("", 3), "abc");
  EXPECT_EQ(ids("c", 3), "d");
  EXPECT_THAT(a.sync().List(RecordKind::kToken, "", 10, {}), IsEmpty());
}

TEST_F(RecordSyncTest, ANodeWithRulesFromAFileIsOkAndNoPropagationWaitsForIt) {
  Add("a");
  Run(seconds(1));
  testing::CommitText(store_, "rules");
  Run(seconds(1));
  const auto nodes = store_.ListNodes();
  ASSERT_EQ(nodes->size(), 1U);
  const VersionRef current = **store_.ReadCurrent();
  EXPECT_EQ(StateOf(nodes->front(), current, clock_.Now()), NodeState::kOk);
}

}  // namespace
}  // namespace sluice::control
