#include "control/testing/conformance.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <set>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "control/record_text.h"

namespace sluice::control::testing {
namespace {

constexpr WallTime kSomeTime{std::chrono::hours(24 * 365 * 50)};

std::optional<VersionRef> CurrentOf(ControlStore& store) {
  const auto current = store.ReadCurrent();
  EXPECT_TRUE(current) << (current ? "" : current.error().message);
  return current ? *current : std::nullopt;
}

std::optional<Version> Read(ControlStore& store, const VersionId& id) {
  auto version = store.ReadVersion(id);
  EXPECT_TRUE(version) << (version ? "" : version.error().message);
  return version ? std::move(*version) : std::nullopt;
}

AuditEvent EventOf(std::string action) {
  return {.time = kSomeTime, .origin = {.author = "alice"}, .action = std::move(action)};
}

void AnEmptyStoreHasNoVersionsAndNoRecords(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  EXPECT_EQ(CurrentOf(store), std::nullopt);
  EXPECT_EQ(Read(store, {.epoch = 1, .number = 1}), std::nullopt);
  EXPECT_TRUE(store.ListVersions()->empty());
  EXPECT_TRUE(store.ReadAudit(0, 10)->empty());
  EXPECT_TRUE(store.ListNodes()->empty());
  EXPECT_EQ(FindHistoryProblem(store), "");
}

void ACommittedVersionIsReadBackByEveryClient(ControlStores& stores) {
  const Version version = MakeVersion(
      {.epoch = 3, .number = 7}, "rules: []\n# ünïcödé\n",
      {.origin = {.author = "alice \"the\" <admin>", .authentication = "token", .address = "::1"},
       .time = kSomeTime,
       .message = "a\nb\t\\",
       .source = VersionSource::kRestored,
       .restores = {.epoch = 2, .number = 4},
       .idempotency_key = "key-1"});
  const auto result = stores.client(0).Commit(version, std::nullopt, EventOf("rules.commit"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->committed);
  EXPECT_EQ(result->current, version.info.ref);
  for (const bool reopened : {false, true}) {
    if (reopened) stores.Reopen();
    for (std::size_t i = 0; i < ControlStores::kClients; ++i) {
      EXPECT_EQ(CurrentOf(stores.client(i)), version.info.ref);
      const auto read = Read(stores.client(i), version.info.ref.id);
      ASSERT_TRUE(read);
      EXPECT_EQ(read->text, version.text);
      EXPECT_EQ(ToJson(read->info), ToJson(version.info));
      const auto list = stores.client(i).ListVersions();
      ASSERT_TRUE(list);
      ASSERT_EQ(list->size(), 1U);
      EXPECT_EQ(ToJson(list->front()), ToJson(version.info));
    }
  }
  const auto audit = stores.client(1).ReadAudit(0, 10);
  ASSERT_TRUE(audit);
  ASSERT_EQ(audit->size(), 1U);
  EXPECT_EQ(audit->front().event.action, "rules.commit");
  EXPECT_EQ(audit->front().event.time, kSomeTime);
  EXPECT_TRUE(Follows(audit->front(), {}));
}

void ACommitInPlaceOfAnotherVersionChangesNothing(ControlStores& stores) {
  const VersionRef first = CommitText(stores.client(0), "one");
  const VersionRef second = CommitText(stores.client(1), "two");
  VersionRef same_number = second;
  same_number.hash = first.hash;
  for (const std::optional<VersionRef>& expected :
       {std::optional<VersionRef>(), std::optional(first), std::optional(same_number)}) {
    const Version version = MakeVersion({.epoch = 1, .number = 3}, "three");
    const auto result = stores.client(2).Commit(version, expected, EventOf("rules.commit"));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_FALSE(result->committed);
    EXPECT_EQ(result->current, second);
  }
  EXPECT_EQ(CurrentOf(stores.client(0)), second);
  EXPECT_EQ(stores.client(0).ListVersions()->size(), 2U);
  EXPECT_EQ(stores.client(0).ReadAudit(0, 10)->size(), 2U);
  EXPECT_EQ(Read(stores.client(0), {.epoch = 1, .number = 3}), std::nullopt);
}

void ACommitExpectingAVersionOfAnEmptyStoreChangesNothing(ControlStores& stores) {
  const Version gone = MakeVersion({.epoch = 1, .number = 1}, "gone");
  const auto result = stores.client(0).Commit(MakeVersion({.epoch = 1, .number = 2}, "next"),
                                              gone.info.ref, EventOf("rules.commit"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result->committed);
  EXPECT_EQ(result->current, VersionRef{});
  EXPECT_EQ(CurrentOf(stores.client(0)), std::nullopt);
}

void AVersionWithoutALaterNumberOrItsOwnHashIsRefused(ControlStores& stores) {
  const VersionRef first = CommitText(stores.client(0), "one");
  Version other_hash = MakeVersion({.epoch = 1, .number = 2}, "two");
  other_hash.text = "2";
  Version no_epoch = MakeVersion({.epoch = 0, .number = 2}, "two");
  Version long_message = MakeVersion({.epoch = 1, .number = 2}, "two");
  long_message.info.message = std::string(kMaxInfoBytes, 'm');
  for (const Version& version :
       {MakeVersion(first.id, "two"), other_hash, no_epoch, long_message}) {
    const auto result = stores.client(0).Commit(version, first, EventOf("rules.commit"));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidOptions) << result.error().message;
  }
  EXPECT_EQ(CurrentOf(stores.client(0)), first);
  EXPECT_EQ(FindHistoryProblem(stores.client(0)), "");
}

void TextsAreKeptByteForByte(ControlStores& stores) {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("\r\n\0x", 4), all_bytes,
        std::string("\xEF\xBB\xBFrules: []"), std::string("# \xF0\x9F\x9A\xA6\n")}) {
    const VersionRef ref = CommitText(stores.client(0), text);
    const auto read = Read(stores.client(1), ref.id);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->text, text);
  }
  EXPECT_EQ(FindHistoryProblem(stores.client(2)), "");
}

void DocumentsUpToTheMaximumAreStored(ControlStores& stores) {
  const VersionRef largest = CommitText(stores.client(0), std::string(kMaxDocumentBytes, 'r'));
  const auto read = Read(stores.client(1), largest.id);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text.size(), kMaxDocumentBytes);
  const auto refused = stores.client(0).Commit(
      NextVersion(largest, std::string(kMaxDocumentBytes + 1, 'r')), largest, EventOf("a"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidOptions);
  EXPECT_EQ(CurrentOf(stores.client(0)), largest);
}

void TheLastHundredVersionsAreKept(ControlStores& stores) {
  for (std::size_t i = 1; i <= kVersionsKept + 5; ++i) {
    CommitText(stores.client(0), "text " + std::to_string(i));
  }
  for (const bool reopened : {false, true}) {
    if (reopened) stores.Reopen();
    const auto list = stores.client(1).ListVersions();
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), kVersionsKept);
    EXPECT_EQ(list->front().ref.id.number, kVersionsKept + 5);
    EXPECT_EQ(list->back().ref.id.number, 6U);
    EXPECT_EQ(Read(stores.client(1), {.epoch = 1, .number = 5}), std::nullopt);
    EXPECT_TRUE(Read(stores.client(1), {.epoch = 1, .number = 6}));
    EXPECT_EQ(FindHistoryProblem(stores.client(1)), "");
  }
}

void ANumberAloneIsTheNewestVersionWithIt(ControlStores& stores) {
  const VersionRef old = CommitText(stores.client(0), "old");
  const Version renewed = MakeVersion({.epoch = 2, .number = 1}, "renewed");
  ASSERT_TRUE(stores.client(0).Commit(renewed, old, EventOf("rules.recover"))->committed);
  EXPECT_EQ(Read(stores.client(0), {.epoch = 0, .number = 1})->text, "renewed");
  EXPECT_EQ(Read(stores.client(0), {.epoch = 1, .number = 1})->text, "old");
  EXPECT_EQ(Read(stores.client(0), {.epoch = 0, .number = 2}), std::nullopt);
}

// Model test: every client commits on what it believes is current.
void ExactlyOneOfConcurrentCommitsWinsEachNumber(ControlStores& stores) {
  constexpr std::uint64_t kVersions = 40;
  std::array<std::vector<VersionRef>, ControlStores::kClients> won;
  std::vector<std::thread> threads;
  const std::uint64_t seed = RandomId();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (std::size_t i = 0; i < ControlStores::kClients; ++i) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(seed + i);
      ControlStore& store = stores.client(i);
      std::optional<VersionRef> known = CurrentOf(store);
      while (!known || known->id.number < kVersions) {
        const std::string text = "by " + std::to_string(i) + ' ' + std::to_string(random());
        const Version version = NextVersion(known, text);
        const auto result = store.Commit(version, known, EventOf("rules.commit"));
        ASSERT_TRUE(result) << result.error().message;
        if (result->committed) won[i].push_back(version.info.ref);
        if (random() % 4 == 0) {
          ASSERT_TRUE(store.AppendAudit(EventOf("other")));
        }
        known = result->current;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<VersionId> numbers;
  std::size_t total = 0;
  const auto list = stores.client(0).ListVersions();
  ASSERT_TRUE(list);
  for (const std::vector<VersionRef>& refs : won) {
    total += refs.size();
    for (const VersionRef& ref : refs) {
      numbers.insert(ref.id);
      EXPECT_EQ(std::ranges::count(*list, ref, &VersionInfo::ref), 1) << ToText(ref.id);
    }
  }
  EXPECT_EQ(numbers.size(), total) << "two clients have won one number";
  EXPECT_EQ(list->size(), total);
  EXPECT_EQ(FindHistoryProblem(stores.client(1)), "");
}

void RecordsOfSeveralClientsAreOneChain(ControlStores& stores) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < ControlStores::kClients; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 20; ++n) {
        const auto record = stores.client(i).AppendAudit(EventOf("by " + std::to_string(i)));
        ASSERT_TRUE(record) << record.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stores.client(0).ReadAudit(0, 1000)->size(), 20 * ControlStores::kClients);
  EXPECT_EQ(FindHistoryProblem(stores.client(0)), "");
  stores.Reopen();
  EXPECT_EQ(stores.client(0).AppendAudit(EventOf("next"))->sequence,
            20 * ControlStores::kClients + 1);
  EXPECT_EQ(FindHistoryProblem(stores.client(0)), "");
}

void TheAuditLogIsReadInPages(ControlStores& stores) {
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(stores.client(0).AppendAudit(EventOf(std::to_string(i))));
  }
  std::string actions;
  std::uint64_t before = 0;
  for (;;) {
    const auto page = stores.client(1).ReadAudit(before, 4);
    ASSERT_TRUE(page) << page.error().message;
    if (page->empty()) break;
    EXPECT_LE(page->size(), 4U);
    for (const AuditRecord& record : *page) actions += record.event.action + ' ';
    before = page->back().sequence;
  }
  EXPECT_EQ(actions, "10 9 8 7 6 5 4 3 2 1 ");
  EXPECT_EQ(stores.client(0).ReadAudit(100, 1)->front().sequence, 10U);
  EXPECT_TRUE(stores.client(0).ReadAudit(0, 0)->empty());
  EXPECT_TRUE(stores.client(0).ReadAudit(1, 5)->empty());
}

void TextThatIsNotUtf8DoesNotBreakTheChain(ControlStores& stores) {
  AuditEvent event = EventOf("rules.commit");
  event.message = "\xFF\xFE \"\\ \n \x01 \x7F end";
  event.origin.author = std::string("a\0b", 3);
  ASSERT_TRUE(stores.client(0).AppendAudit(event));
  ASSERT_TRUE(stores.client(0).AppendAudit(event));
  EXPECT_EQ(FindHistoryProblem(stores.client(1)), "");
}

void NodesAreListedUntilTheyAreRemoved(ControlStores& stores) {
  ControlStore& store = stores.client(0);
  const NodeRecord node{.id = "n1",
                        .address = "10.0.0.1:8080",
                        .build = "1.2.3",
                        .started = kSomeTime,
                        .active = {.id = {.epoch = 1, .number = 2}, .hash = "abc"},
                        .active_since = kSomeTime,
                        .rejected = {.id = {.epoch = 1, .number = 3}, .hash = "def"},
                        .error = "line 3: unknown field",
                        .store = "memory",
                        .breaker = "closed"};
  const auto before = store.Now();
  const auto written = store.WriteNode(node);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_GE(*written, *before);
  ASSERT_TRUE(store.WriteNode(NodeRecord{.id = "n2"}));
  ASSERT_TRUE(store.WriteNode(node));
  const auto nodes = stores.client(1).ListNodes();
  ASSERT_TRUE(nodes) << nodes.error().message;
  ASSERT_EQ(nodes->size(), 2U);
  const auto found = std::ranges::find(*nodes, "n1", &NodeRecord::id);
  ASSERT_NE(found, nodes->end());
  EXPECT_EQ(ToJson(*found), ToJson(node));
  EXPECT_GE(found->last_seen, *before);
  EXPECT_TRUE(*store.RemoveNode("n1"));
  EXPECT_FALSE(*store.RemoveNode("n1"));
  EXPECT_EQ(stores.client(1).ListNodes()->size(), 1U);
}

constexpr auto kCases = std::to_array<ConformanceCase>({
    {"AnEmptyStoreHasNoVersionsAndNoRecords", AnEmptyStoreHasNoVersionsAndNoRecords},
    {"ACommittedVersionIsReadBackByEveryClient", ACommittedVersionIsReadBackByEveryClient},
    {"ACommitInPlaceOfAnotherVersionChangesNothing", ACommitInPlaceOfAnotherVersionChangesNothing},
    {"ACommitExpectingAVersionOfAnEmptyStoreChangesNothing",
     ACommitExpectingAVersionOfAnEmptyStoreChangesNothing},
    {"AVersionWithoutALaterNumberOrItsOwnHashIsRefused",
     AVersionWithoutALaterNumberOrItsOwnHashIsRefused},
    {"TextsAreKeptByteForByte", TextsAreKeptByteForByte},
    {"DocumentsUpToTheMaximumAreStored", DocumentsUpToTheMaximumAreStored},
    {"TheLastHundredVersionsAreKept", TheLastHundredVersionsAreKept},
    {"ANumberAloneIsTheNewestVersionWithIt", ANumberAloneIsTheNewestVersionWithIt},
    {"ExactlyOneOfConcurrentCommitsWinsEachNumber", ExactlyOneOfConcurrentCommitsWinsEachNumber},
    {"RecordsOfSeveralClientsAreOneChain", RecordsOfSeveralClientsAreOneChain},
    {"TheAuditLogIsReadInPages", TheAuditLogIsReadInPages},
    {"TextThatIsNotUtf8DoesNotBreakTheChain", TextThatIsNotUtf8DoesNotBreakTheChain},
    {"NodesAreListedUntilTheyAreRemoved", NodesAreListedUntilTheyAreRemoved},
});

}  // namespace

std::span<const ConformanceCase> ConformanceCases() {
  static const std::vector<ConformanceCase> all = [] {
    std::vector<ConformanceCase> cases(kCases.begin(), kCases.end());
    const auto records = RecordConformanceCases();
    cases.insert(cases.end(), records.begin(), records.end());
    return cases;
  }();
  return all;
}

Version NextVersion(const std::optional<VersionRef>& current, std::string text) {
  VersionId id{.epoch = 1, .number = 1};
  if (current && current->id.number != 0) id = {current->id.epoch, current->id.number + 1};
  return MakeVersion(id, std::move(text), {.time = kSomeTime});
}

VersionRef CommitText(ControlStore& store, const std::string& text) {
  const auto current = CurrentOf(store);
  const Version version = NextVersion(current, text);
  const auto result = store.Commit(version, current, EventOf("rules.commit"));
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  EXPECT_TRUE(result && result->committed) << ToText(version.info.ref.id);
  return version.info.ref;
}

std::string FindHistoryProblem(ControlStore& store) {
  const auto current = store.ReadCurrent();
  const auto list = store.ListVersions();
  const auto audit = store.ReadAudit(0, kAuditRecordsKept);
  if (!current) return current.error().message;
  if (!list) return list.error().message;
  if (!audit) return audit.error().message;
  if (current->has_value() != !list->empty()) return "pointer without versions, or the reverse";
  if (*current && list->front().ref != **current) return "newest version is not the current one";
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (i > 0 && (*list)[i].ref.id >= (*list)[i - 1].ref.id) return "numbers do not ascend";
    const auto version = store.ReadVersion((*list)[i].ref.id);
    if (!version) return version.error().message;
    if (!*version) return "version " + ToText((*list)[i].ref.id) + " has no text";
    if ((*version)->info.ref != (*list)[i].ref) return "another version than the listed one";
  }
  for (std::size_t i = 0; i < audit->size(); ++i) {
    const bool first = i + 1 == audit->size();
    if (first && (*audit)[i].sequence > 1) {
      if (HashOf((*audit)[i]) != (*audit)[i].hash) return "oldest record is damaged";
    } else if (!Follows((*audit)[i], first ? AuditRecord{} : (*audit)[i + 1])) {
      return "record " + std::to_string((*audit)[i].sequence) + " does not follow the one before";
    }
  }
  return "";
}

}  // namespace sluice::control::testing
