// The behavior of records in every control store.

#include <array>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "control/testing/conformance.h"

namespace sluice::control::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

RecordWrite Entry(std::string id, std::string text) {
  return {.kind = RecordKind::kEntry, .id = std::move(id), .text = std::move(text)};
}

RecordWrite Removal(std::string id) {
  return {.kind = RecordKind::kEntry, .id = std::move(id), .remove = true};
}

AuditEvent RecordEvent(std::string action = "entry.put") {
  return {.origin = {.author = "alice"}, .action = std::move(action)};
}

RecordWriteResult Write(ControlStore& store, const std::vector<RecordWrite>& writes) {
  const auto result = store.WriteRecords(writes, RecordEvent());
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? *result : RecordWriteResult{.outcome = RecordWriteOutcome::kConflict};
}

RecordPage ReadPage(ControlStore& store, const RecordCursor& after, std::size_t count = 1000) {
  auto page = store.ReadRecords(after, count);
  EXPECT_TRUE(page) << (page ? "" : page.error().message);
  return page ? *std::move(page) : RecordPage{};
}

/// "id=text", or "id removed".
std::vector<std::string> Describe(std::span<const Record> records) {
  std::vector<std::string> list;
  for (const Record& record : records) {
    list.push_back(record.id + (record.removed ? " removed" : "=" + record.text));
  }
  return list;
}

std::vector<std::string> ReadAll(ControlStore& store) {
  return Describe(ReadRecordTable(store).List());
}

std::vector<RecordWrite> ManyEntries(std::size_t count, const std::string& text) {
  std::vector<RecordWrite> writes;
  for (std::size_t i = 0; i < count; ++i) writes.push_back(Entry("e" + std::to_string(i), text));
  return writes;
}

void AnEmptyStoreHasNoEntries(ControlStores& stores) {
  const auto head = stores.client(0).ReadHead();
  ASSERT_TRUE(head) << head.error().message;
  EXPECT_EQ(head->version, std::nullopt);
  EXPECT_EQ(head->records.sequence, 0U);
  const RecordPage page = ReadPage(stores.client(0), {});
  EXPECT_TRUE(page.is_snapshot_start);
  EXPECT_TRUE(page.complete);
  EXPECT_THAT(page.records, IsEmpty());
  EXPECT_FALSE(page.diverged);
}

void WrittenRecordsAreReadByEveryClient(ControlStores& stores) {
  const auto now = stores.client(0).Now();
  const WallTime expiry = *now + std::chrono::hours(1);
  std::vector<RecordWrite> writes{
      Entry("ünï \"c\" \\", "{\"a\":\"\\u0001 b\"}"),
      {.kind = RecordKind::kToken, .id = "t:1", .text = "x y", .expires_at = expiry}};
  const RecordWriteResult result = Write(stores.client(0), writes);
  EXPECT_EQ(result.first_sequence, 1U);
  EXPECT_EQ(result.cursor.sequence, 2U);
  EXPECT_GE(result.cursor.time, *now);
  for (const bool reopened : {false, true}) {
    SCOPED_TRACE(reopened);
    if (reopened) stores.Reopen();
    const RecordPage page = ReadPage(stores.client(1), {});
    ASSERT_THAT(page.records, SizeIs(2));
    EXPECT_EQ(page.records[0], (Record{.kind = RecordKind::kEntry,
                                       .id = writes[0].id,
                                       .text = writes[0].text,
                                       .sequence = 1,
                                       .time = result.cursor.time}));
    EXPECT_EQ(page.records[1], (Record{.kind = RecordKind::kToken,
                                       .id = "t:1",
                                       .text = "x y",
                                       .sequence = 2,
                                       .time = result.cursor.time,
                                       .expires_at = expiry}));
    EXPECT_EQ(page.next, result.cursor);
    EXPECT_EQ(stores.client(2).ReadHead()->records, result.cursor);
  }
}

void OnlyLaterChangesAreReadAfterACursor(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const RecordCursor first = Write(store, {Entry("a", "1"), Entry("b", "1")}).cursor;
  Write(store, {Entry("a", "2")});
  Write(store, {Entry("c", "1")});
  const RecordCursor last = Write(store, {Removal("b")}).cursor;
  const RecordPage page = ReadPage(stores.client(1), first);
  EXPECT_FALSE(page.is_snapshot_start);
  EXPECT_THAT(Describe(page.records), ElementsAre("a=2", "c=1", "b removed"));
  EXPECT_EQ(page.next, last);
  EXPECT_THAT(ReadPage(store, last).records, IsEmpty());
  EXPECT_FALSE(ReadPage(store, last).is_snapshot_start);
  EXPECT_THAT(ReadAll(store), ElementsAre("a=2", "c=1"));
}

void AWriteWithAnUnexpectedRecordChangesNothing(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const RecordCursor before = Write(store, {Entry("a", "1")}).cursor;
  const std::size_t audits = store.ReadAudit(0, 10)->size();
  RecordWrite other = Entry("a", "2");
  for (const std::uint64_t expected : {0, 2, 100}) {
    other.expected = expected;
    const RecordWriteResult result = Write(stores.client(1), {Entry("b", "1"), other});
    EXPECT_EQ(result.outcome, RecordWriteOutcome::kConflict);
    EXPECT_EQ(result.failed, 1U);
    EXPECT_EQ(result.found, 1U);
  }
  RecordWrite missing = Removal("c");
  missing.expected = 1;
  EXPECT_EQ(Write(store, {missing}).outcome, RecordWriteOutcome::kConflict);
  EXPECT_EQ(Write(store, {missing}).found, 0U);
  EXPECT_EQ(store.ReadHead()->records, before);
  EXPECT_THAT(ReadAll(store), ElementsAre("a=1"));
  EXPECT_THAT(*store.ReadAudit(0, 10), SizeIs(audits));
  other.expected = 1;
  RecordWrite fresh = Entry("b", "1");
  fresh.expected = 0;
  EXPECT_EQ(Write(store, {fresh, other}).outcome, RecordWriteOutcome::kWritten);
  EXPECT_THAT(ReadAll(store), ElementsAre("b=1", "a=2"));
}

void ARemovedRecordCanBeCreatedAgain(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  Write(store, {Entry("a", "1")});
  const RecordCursor removed = Write(store, {Removal("a")}).cursor;
  EXPECT_THAT(ReadAll(store), IsEmpty());
  RecordWrite again = Entry("a", "2");
  again.expected = 0;
  Write(store, {again});
  EXPECT_THAT(Describe(ReadPage(store, removed).records), ElementsAre("a=2"));
}

void ExpiredRecordsAreAbsent(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const RecordCursor before = Write(store, {Entry("a", "1"), Entry("b", "1")}).cursor;
  const WallTime now = *store.Now();
  RecordWrite expired = Entry("a", "2");
  expired.expires_at = now - std::chrono::seconds(1);
  RecordWrite later = Entry("b", "2");
  later.expires_at = now + std::chrono::hours(1);
  Write(store, {expired, later});
  EXPECT_THAT(ReadAll(store), ElementsAre("b=2"));
  // A reader that has an earlier form of it must forget it.
  EXPECT_THAT(Describe(ReadPage(store, before).records), ElementsAre("a removed", "b=2"));
  RecordWrite fresh = Entry("a", "3");
  fresh.expected = 0;
  EXPECT_EQ(Write(store, {fresh}).outcome, RecordWriteOutcome::kWritten);
  EXPECT_THAT(ReadAll(store), ElementsAre("b=2", "a=3"));
}

void EachWriteIsInTheAuditLog(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  ASSERT_TRUE(store.AppendAudit(RecordEvent("first")));
  Write(store, {Entry("a", "1"), Entry("b", "1")});
  CommitText(store, "rules");
  ASSERT_TRUE(store.WriteRecords(std::vector{Removal("a")}, RecordEvent("entry.delete")));
  stores.Reopen();
  std::vector<std::string> actions;
  const auto audit = stores.client(0).ReadAudit(0, 10);
  for (const AuditRecord& record : *audit) {
    actions.push_back(record.event.action);
  }
  EXPECT_THAT(actions, ElementsAre("entry.delete", "rules.commit", "entry.put", "first"));
  EXPECT_EQ(FindHistoryProblem(stores.client(0)), "");
}

void WritesThatNoStoreAcceptsAreRefused(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const std::vector<std::vector<RecordWrite>> all{
      {},
      {Entry("a", "1"), Entry("a", "2")},
      {Entry("", "1")},
      {Entry("a", "")},
      {Entry("a\n", "1")},
      {Entry("\xFF", "1")},
      {Entry("a", "\xFF")},
      {Entry(std::string(kMaxRecordIdBytes + 1, 'a'), "1")},
      {Entry("a", std::string(kMaxRecordBytes + 1, 'a'))},
      ManyEntries(kMaxRecordsPerWrite + 1, "1"),
      ManyEntries(1000, std::string(kMaxRecordBytes, 'a'))};
  for (const auto& writes : all) {
    const auto result = store.WriteRecords(writes, RecordEvent());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidOptions);
  }
  EXPECT_EQ(store.ReadHead()->records.sequence, 0U);
  EXPECT_THAT(*store.ReadAudit(0, 10), IsEmpty());
}

void TheNumberOfRecordsOfAKindIsBounded(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  constexpr std::size_t kMost = 16;
  const auto enforcement = [](std::size_t i) {
    return RecordWrite{
        .kind = RecordKind::kEnforcement, .id = "e" + std::to_string(i), .text = "on"};
  };
  for (std::size_t i = 0; i < kMost; ++i) Write(store, {enforcement(i)});
  const RecordWriteResult result = Write(store, {Entry("a", "1"), enforcement(kMost)});
  EXPECT_EQ(result.outcome, RecordWriteOutcome::kTooMany);
  EXPECT_EQ(result.failed, 1U);
  EXPECT_EQ(ReadRecordTable(store).size(), kMost);
  RecordWrite removal = enforcement(0);
  removal.remove = true;
  EXPECT_EQ(Write(store, {enforcement(kMost), removal}).outcome, RecordWriteOutcome::kWritten)
      << "one in place of another";
  EXPECT_EQ(Write(store, {enforcement(1)}).outcome, RecordWriteOutcome::kWritten);
  EXPECT_EQ(Write(store, {enforcement(0)}).outcome, RecordWriteOutcome::kTooMany);
  stores.Reopen();
  EXPECT_EQ(Write(stores.client(0), {enforcement(0)}).outcome, RecordWriteOutcome::kTooMany);
}

void TheLargestWriteIsReadInPages(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  Write(store, {Entry("old", "1")});
  const RecordCursor cursor = Write(store, ManyEntries(kMaxRecordsPerWrite, "text")).cursor;
  RecordPage page = ReadPage(stores.client(1), {}, kMaxRecordsPerPage);
  EXPECT_TRUE(page.is_snapshot_start);
  EXPECT_FALSE(page.complete);
  RecordTable table;
  table.Reset(page.records, page.next);
  // What changes between pages is on a later one.
  Write(store, {Removal("old"), Entry("e0", "changed")});
  for (int i = 0; !page.complete && i < 100; ++i) {
    page = ReadPage(stores.client(1), page.next, kMaxRecordsPerPage);
    EXPECT_FALSE(page.is_snapshot_start);
    EXPECT_LE(page.records.size(), kMaxRecordsPerPage);
    table.Apply(page.records, page.next);
  }
  EXPECT_TRUE(page.complete);
  EXPECT_EQ(table.size(), kMaxRecordsPerWrite);
  EXPECT_EQ(table.Find(RecordKind::kEntry, "old"), nullptr);
  EXPECT_EQ(table.Find(RecordKind::kEntry, "e0")->text, "changed");
  EXPECT_EQ(table.cursor(), store.ReadHead()->records);
  EXPECT_EQ(ReadPage(store, cursor).records.size(), 2U);
}

void ACursorBeforeForgottenRemovalsStartsASnapshot(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const RecordCursor first = Write(store, {Entry("a", "1")}).cursor;
  std::vector<RecordWrite> writes = ManyEntries(kMaxRecordsPerWrite, "1");
  RecordCursor middle;
  for (std::size_t round = 0; round * kMaxRecordsPerWrite <= kRemovedRecordsKept; ++round) {
    for (std::size_t i = 0; i < writes.size(); ++i) {
      writes[i].id = std::to_string(round) + "." + std::to_string(i);
      writes[i].remove = false;
    }
    middle = Write(store, writes).cursor;
    for (RecordWrite& write : writes) write.remove = true;
    Write(store, writes);
  }
  const RecordPage page = ReadPage(store, first);
  EXPECT_TRUE(page.is_snapshot_start);
  EXPECT_FALSE(page.diverged);
  EXPECT_THAT(ReadAll(store), ElementsAre("a=1"));
  EXPECT_FALSE(ReadPage(store, middle).is_snapshot_start);
}

void ACursorOfAnotherHistoryIsRecognized(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  Write(store, {Entry("a", "1")});
  const RecordCursor cursor = Write(store, {Entry("b", "1"), Entry("c", "1")}).cursor;
  RecordCursor ahead = cursor;
  ahead.sequence += 1;
  RecordCursor other_write = cursor;
  other_write.time += Micros{1};
  RecordCursor inside = cursor;
  inside.sequence -= 1;
  RecordCursor later_epoch = cursor;
  later_epoch.epoch += 1;
  Write(store, {Entry("d", "1")});
  ahead.sequence += 1;
  for (const RecordCursor& unknown : {ahead, other_write, inside, later_epoch}) {
    const RecordPage page = ReadPage(store, unknown);
    EXPECT_TRUE(page.diverged);
    EXPECT_TRUE(page.is_snapshot_start);
    EXPECT_THAT(page.records, SizeIs(4));
  }
  EXPECT_FALSE(ReadPage(store, cursor).diverged);
}

void RestoredRecordsAreANewEpoch(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const RecordCursor before = Write(store, {Entry("a", "1"), Entry("b", "1")}).cursor;
  Write(store, {Removal("b")});
  const RecordCursor expected = store.ReadHead()->records;
  std::vector<Record> records;
  for (int i = 0; i < 2500; ++i) {
    records.push_back({.kind = RecordKind::kEntry,
                       .id = "r" + std::to_string(i),
                       .text = "text",
                       .sequence = 7,
                       .time = before.time - Micros{i}});
  }
  const RecordCursor base{.epoch = 5, .sequence = 100};
  const auto other = store.RestoreRecords(records, before, base, RecordEvent("records.restore"));
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->outcome, RecordWriteOutcome::kConflict);
  EXPECT_THAT(ReadAll(store), ElementsAre("a=1"));
  const auto restored =
      store.RestoreRecords(records, expected, base, RecordEvent("records.restore"));
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->outcome, RecordWriteOutcome::kWritten);
  EXPECT_EQ(restored->cursor.epoch, 5U);
  EXPECT_EQ(restored->cursor.sequence, 2600U);
  for (const bool reopened : {false, true}) {
    SCOPED_TRACE(reopened);
    if (reopened) stores.Reopen();
    const RecordTable table = ReadRecordTable(stores.client(1));
    EXPECT_EQ(table.cursor(), restored->cursor);
    EXPECT_EQ(table.size(), records.size());
    const Record* const one = table.Find(RecordKind::kEntry, "r5");
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->sequence, 106U);
    EXPECT_EQ(one->time, records[5].time);
  }
  const RecordPage page = ReadPage(stores.client(0), before);
  EXPECT_TRUE(page.is_snapshot_start);
  EXPECT_FALSE(page.diverged) << "an earlier epoch is over";
  EXPECT_EQ(Write(stores.client(0), {Entry("next", "1")}).cursor.sequence, 2601U);
  EXPECT_EQ(stores.client(0).ReadAudit(2, 1)->size(), 1U);
  EXPECT_EQ(FindHistoryProblem(stores.client(0)), "");
}

void AllRecordsCanBeRestoredAwayInAnEmptyStore(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const auto restored = store.RestoreRecords({}, {}, {.epoch = 2, .sequence = 9}, RecordEvent());
  ASSERT_TRUE(restored) << restored.error().message;
  EXPECT_EQ(restored->cursor.epoch, 2U);
  EXPECT_EQ(restored->cursor.sequence, 10U);
  EXPECT_THAT(ReadAll(store), IsEmpty());
}

void ConcurrentWritersLoseNoUpdate(ControlStores& stores) {
  constexpr int kIncrements = 30;
  Write(stores.client(0), {Entry("counter", "0")});
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ControlStores::kClients; ++i) {
    threads.emplace_back([&, i] {
      ControlStore& store = stores.client(i);
      for (int done = 0; done < kIncrements;) {
        const RecordTable table = ReadRecordTable(store);
        const Record* const counter = table.Find(RecordKind::kEntry, "counter");
        ASSERT_NE(counter, nullptr);
        RecordWrite write = Entry("counter", std::to_string(std::stoi(counter->text) + 1));
        write.expected = counter->sequence;
        if (Write(store, {write}).outcome == RecordWriteOutcome::kWritten) ++done;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ReadAll(stores.client(0)),
              ElementsAre("counter=" + std::to_string(kIncrements * ControlStores::kClients)));
  EXPECT_EQ(FindHistoryProblem(stores.client(0)), "");
}

void ReportsOfNodesAreReadUntilTheyExpire(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  ASSERT_TRUE(store.WriteNodeReport("top", {.node = "b", .text = "old"}, std::chrono::hours(1)));
  ASSERT_TRUE(store.WriteNodeReport("top", {.node = "b", .text = "2 \n"}, std::chrono::hours(1)));
  ASSERT_TRUE(store.WriteNodeReport("top", {.node = "a", .text = "1"}, std::chrono::hours(1)));
  ASSERT_TRUE(store.WriteNodeReport("other", {.node = "a", .text = "x"}, std::chrono::hours(1)));
  // Expired by the time it is read, since each call takes a microsecond.
  ASSERT_TRUE(store.WriteNodeReport("short", {.node = "a", .text = "x"}, Micros{1}));
  const auto reports = stores.client(1).ReadNodeReports("top");
  ASSERT_TRUE(reports) << reports.error().message;
  ASSERT_THAT(*reports, SizeIs(2));
  EXPECT_EQ((*reports)[0].node, "a");
  EXPECT_EQ((*reports)[1].node, "b");
  EXPECT_EQ((*reports)[1].text, "2 \n");
  EXPECT_THAT(*store.ReadNodeReports("none"), IsEmpty());
  EXPECT_THAT(*store.ReadNodeReports("short"), IsEmpty());
  EXPECT_FALSE(store.WriteNodeReport("Top:", {.node = "a"}, std::chrono::hours(1)));
  EXPECT_FALSE(store.WriteNodeReport(
      "top", {.node = "a", .text = std::string(kMaxReportBytes + 1, 'x')}, std::chrono::hours(1)));
}

void AWriteWithoutAnActionIsNotInTheAuditLog(ControlStores& stores) {
  const std::vector<RecordWrite> first{Entry("a", "1")};
  const auto written = stores.client(0).WriteRecords(first, {});
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->outcome, RecordWriteOutcome::kWritten);
  EXPECT_THAT(*stores.client(1).ReadAudit(0, 10), IsEmpty());
  Write(stores.client(1), {Entry("b", "2")});
  const std::vector<RecordWrite> third{Entry("c", "3")};
  ASSERT_TRUE(stores.client(0).WriteRecords(third, {}));
  EXPECT_THAT(ReadAll(stores.client(1)), ElementsAre("a=1", "b=2", "c=3"));
  EXPECT_THAT(*stores.client(0).ReadAudit(0, 10), SizeIs(1));
}

constexpr auto kRecordCases = std::to_array<ConformanceCase>({
    {"AnEmptyStoreHasNoEntries", AnEmptyStoreHasNoEntries},
    {"WrittenRecordsAreReadByEveryClient", WrittenRecordsAreReadByEveryClient},
    {"OnlyLaterChangesAreReadAfterACursor", OnlyLaterChangesAreReadAfterACursor},
    {"AWriteWithAnUnexpectedRecordChangesNothing", AWriteWithAnUnexpectedRecordChangesNothing},
    {"ARemovedRecordCanBeCreatedAgain", ARemovedRecordCanBeCreatedAgain},
    {"ExpiredRecordsAreAbsent", ExpiredRecordsAreAbsent},
    {"EachWriteIsInTheAuditLog", EachWriteIsInTheAuditLog},
    {"AWriteWithoutAnActionIsNotInTheAuditLog", AWriteWithoutAnActionIsNotInTheAuditLog},
    {"WritesThatNoStoreAcceptsAreRefused", WritesThatNoStoreAcceptsAreRefused},
    {"TheNumberOfRecordsOfAKindIsBounded", TheNumberOfRecordsOfAKindIsBounded},
    {"TheLargestWriteIsReadInPages", TheLargestWriteIsReadInPages, /*is_heavy=*/true},
    {"ACursorBeforeForgottenRemovalsStartsASnapshot", ACursorBeforeForgottenRemovalsStartsASnapshot,
     /*is_heavy=*/true},
    {"ACursorOfAnotherHistoryIsRecognized", ACursorOfAnotherHistoryIsRecognized},
    {"RestoredRecordsAreANewEpoch", RestoredRecordsAreANewEpoch},
    {"AllRecordsCanBeRestoredAwayInAnEmptyStore", AllRecordsCanBeRestoredAwayInAnEmptyStore},
    {"ConcurrentWritersLoseNoUpdate", ConcurrentWritersLoseNoUpdate},
    {"ReportsOfNodesAreReadUntilTheyExpire", ReportsOfNodesAreReadUntilTheyExpire},
});

}  // namespace

std::span<const ConformanceCase> RecordConformanceCases() { return kRecordCases; }

RecordTable ReadRecordTable(ControlStore& store) {
  RecordTable table;
  for (RecordCursor cursor;;) {
    const auto page = store.ReadRecords(cursor, kMaxRecordsPerPage);
    EXPECT_TRUE(page) << (page ? "" : page.error().message);
    if (!page) return table;
    if (page->is_snapshot_start) {
      table.Reset(page->records, page->next);
    } else {
      table.Apply(page->records, page->next);
    }
    if (page->complete) return table;
    cursor = page->next;
  }
}

}  // namespace sluice::control::testing
