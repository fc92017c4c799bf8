#include "control/entry_service.h"

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "control/testing/fake_record_service.h"
#include "match/entry_text.h"

namespace sluice::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

match::Entry BlockEntryOf(std::string id, std::string key) {
  match::Entry entry;
  entry.id = std::move(id);
  entry.match.push_back({.attribute = "api_key", .value = std::move(key)});
  return entry;
}

Record EntryRecordOf(const match::Entry& entry) {
  Record record;
  record.kind = RecordKind::kEntry;
  record.id = entry.id;
  record.text = match::StoredText(entry);
  return record;
}

class EntryServiceTest : public ::testing::Test {
 protected:
  std::vector<std::string> Ids(const EntryQuery& query = {}) const {
    std::vector<std::string> ids;
    for (const auto& live : service_.List(query).entries) ids.push_back(live->entry.id);
    return ids;
  }
  bool Blocks(std::string_view key) const {
    const auto set = live_.Active().value;
    if (set == nullptr) return false;
    match::EntryMatches matches;
    const std::vector<Attribute> call = {{"api_key", key}};
    set->Find(call, clock_.Now(), matches);
    return !matches.empty();
  }

  FakeClock clock_{WallTime{std::chrono::seconds(1'900'000'000)}};
  testing::FakeRecordService records_{clock_};
  Live<match::EntrySet> live_;
  std::vector<std::string> unreadable_;
  EntryService service_{
      live_,
      {.now = [this] { return clock_.Now(); },
       .on_unreadable = [this](const std::string& id,
                               const std::string& /*error*/) { unreadable_.push_back(id); }}};
};

TEST_F(EntryServiceTest, FollowsRecords) {
  service_.Apply(
      std::vector{EntryRecordOf(BlockEntryOf("a", "k1")), EntryRecordOf(BlockEntryOf("b", "k2"))},
      true);
  EXPECT_TRUE(Blocks("k1"));
  Record removed = EntryRecordOf(BlockEntryOf("a", "k1"));
  removed.removed = true;
  removed.text.clear();
  service_.Apply(std::vector{removed, EntryRecordOf(BlockEntryOf("c", "k3"))}, false);
  EXPECT_FALSE(Blocks("k1"));
  EXPECT_TRUE(Blocks("k2"));
  EXPECT_TRUE(Blocks("k3"));
  EXPECT_EQ(service_.Counts().total, 2U);
  // A snapshot replaces everything.
  service_.Apply(std::vector{EntryRecordOf(BlockEntryOf("d", "k4"))}, true);
  EXPECT_THAT(Ids(), ElementsAre("d"));
  EXPECT_FALSE(Blocks("k2"));
}

TEST_F(EntryServiceTest, IgnoresRecordsOfOtherKinds) {
  Record token = EntryRecordOf(BlockEntryOf("t", "k"));
  token.kind = RecordKind::kToken;
  service_.Apply(std::vector{token}, false);
  EXPECT_THAT(Ids(), IsEmpty());
}

TEST_F(EntryServiceTest, ARecordThatCanNotBeReadHasNoEffectAndIsReported) {
  service_.Apply(std::vector{EntryRecordOf(BlockEntryOf("a", "k1"))}, true);
  Record newer = EntryRecordOf(BlockEntryOf("a", "k1"));
  newer.text = R"({"match":{},"effect":"of a later build"})";
  service_.Apply(std::vector{newer, EntryRecordOf(BlockEntryOf("b", "k2"))}, false);
  EXPECT_THAT(unreadable_, ElementsAre("a"));
  EXPECT_FALSE(Blocks("k1"));
  EXPECT_TRUE(Blocks("k2"));
}

TEST_F(EntryServiceTest, AChangeIsWrittenWithItsAuditRecord) {
  match::Entry entry = BlockEntryOf("a", "k1");
  entry.expires_at = clock_.Now() + std::chrono::hours(1);
  EntryChange change{.put = {entry}, .audit = {.action = "entry.put", .target = "a"}};
  change.dry_run = true;
  EXPECT_EQ(service_.Change(records_, change).created, 1U);
  EXPECT_FALSE(records_.Find(RecordKind::kEntry, "a"));
  change.dry_run = false;
  EXPECT_EQ(service_.Change(records_, change).outcome, EntryOutcome::kDone);
  const auto written = records_.Find(RecordKind::kEntry, "a");
  ASSERT_TRUE(written);
  EXPECT_EQ(written->text, match::StoredText(entry));
  EXPECT_EQ(written->expires_at, entry.expires_at);
  ASSERT_THAT(records_.Audits(), SizeIs(1));
  EXPECT_EQ(records_.Audits()[0].action, "entry.put");
}

TEST_F(EntryServiceTest, WhatIsNotThereCanNotBeRemoved) {
  const EntryChangeResult result = service_.Change(records_, {.remove = {"a"}});
  EXPECT_EQ(result.outcome, EntryOutcome::kNotFound);
  EXPECT_EQ(result.message, "a");
  EXPECT_THAT(records_.Audits(), IsEmpty());
}

TEST_F(EntryServiceTest, AStoreThatFailsIsReported) {
  records_.SetFailure(Error{ErrorCode::kStoreUnavailable, "no Redis"});
  const EntryChangeResult result = service_.Change(records_, {.put = {BlockEntryOf("a", "k")}});
  EXPECT_EQ(result.outcome, EntryOutcome::kFailed);
  EXPECT_EQ(result.message, "no Redis");
}

TEST_F(EntryServiceTest, TooManyOfAKindAreRefused) {
  EntryChange change;
  for (int i = 0; i < 257; ++i) {
    match::Entry entry = BlockEntryOf("g" + std::to_string(i), "k" + std::to_string(i) + "*");
    entry.match[0].kind = rules::PatternKind::kGlob;
    change.put.push_back(std::move(entry));
  }
  const EntryChangeResult result = service_.Change(records_, change);
  EXPECT_EQ(result.outcome, EntryOutcome::kTooMany);
  EXPECT_EQ(result.message, "at most 256 entries with globs");
  EXPECT_THAT(records_.Audits(), IsEmpty());
}

TEST_F(EntryServiceTest, ListsInPagesAndByFilters) {
  std::vector<Record> records;
  for (int i = 0; i < 5; ++i) {
    match::Entry entry = BlockEntryOf("e" + std::to_string(i), "key" + std::to_string(i));
    if (i == 3) entry.effect = match::EntryEffect::kAllow;
    if (i == 4) entry.expires_at = clock_.Now();
    records.push_back(EntryRecordOf(entry));
  }
  service_.Apply(records, true);
  const EntryPage page = service_.List({.limit = 2});
  EXPECT_EQ(page.next, "e1");
  EXPECT_THAT(Ids({.after = page.next}), ElementsAre("e2", "e3"));
  EXPECT_THAT(Ids({.effect = match::EntryEffect::kAllow}), ElementsAre("e3"));
  EXPECT_THAT(Ids({.match = "api_key=key2"}), ElementsAre("e2"));
  EXPECT_THAT(Ids({.match = "key", .parts_of_values = true}), SizeIs(4));
  EXPECT_THAT(Ids({.match = "key", .parts_of_values = false}), IsEmpty());
  EXPECT_EQ(service_.Find("e4"), nullptr);
}

TEST_F(EntryServiceTest, APreviewChangesNothing) {
  service_.Apply(std::vector{EntryRecordOf(BlockEntryOf("a", "k1"))}, true);
  const auto preview = service_.Preview({.put = {BlockEntryOf("b", "k2")}, .remove = {"a"}});
  match::EntryMatches matches;
  preview->Find(std::vector<Attribute>{{"api_key", "k2"}}, clock_.Now(), matches);
  EXPECT_THAT(matches.found(), SizeIs(1));
  EXPECT_FALSE(Blocks("k2"));
  EXPECT_TRUE(Blocks("k1"));
}

}  // namespace
}  // namespace sluice::control
