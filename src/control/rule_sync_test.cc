#include "control/rule_sync.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "control/testing/conformance.h"
#include "control/testing/fake_control_store.h"

namespace sluice::control {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::CommitText;
using ::testing::Contains;
using testing::FakeControlStore;
using testing::FindHistoryProblem;
using ::testing::HasSubstr;
using testing::NextVersion;
using ::testing::Not;

const Error kAway{ErrorCode::kStoreUnavailable, "127.0.0.1:6379: connection refused"};

class FakeCopy final : public LastGoodCopy {
 public:
  std::optional<Version> version;
  std::optional<Error> failure;

  Result<std::optional<Version>> Load() override {
    if (failure) return *failure;
    return version;
  }
  std::optional<Error> Save(const Version& saved) override {
    if (!failure) version = saved;
    return failure;
  }
  Result<RecordTable> LoadRecords() override {
    if (failure) return *failure;
    return records;
  }
  std::optional<Error> SaveRecords(const RecordTable& saved, std::span<const Record> /*changes*/,
                                   bool /*complete*/) override {
    if (!failure) records = saved;
    return failure;
  }
  RecordTable records;
};

/// One node: its rules are the text that was activated last.
class Node {
 public:
  Node(FakeControlStore& store, std::string id, std::optional<std::string> seed = {})
      : id_(std::move(id)),
        sync_(store, &copy,
              {.node = {.id = id_, .address = id_ + ":8080"}, .seed = std::move(seed)},
              {.activate = [this](const Version& version) { return Activate(version); },
               .on_event = [this](const SyncEvent& event) { events.push_back(event.kind); },
               .random = [] { return 0; }}) {}

  [[nodiscard]] SyncStats Stats() const { return sync_.Stats(); }
  [[nodiscard]] bool settled() const { return sync_.settled(); }
  [[nodiscard]] const std::string& id() const { return id_; }

  std::string rules;
  std::string unusable;  ///< The text that this node can't compile.
  int activations = 0;
  FakeCopy copy;
  std::vector<SyncEventKind> events;
  SteadyTime due{};

  void Step(SteadyTime now) { due = sync_.Step(now); }

 private:
  LoadReport Activate(const Version& version) {
    ++activations;
    if (!unusable.empty() && version.text == unusable) return {.error = "line 1: unknown field"};
    rules = version.text;
    return {.activated = true};
  }

  const std::string id_;
  RuleSync sync_;
};

class RuleSyncTest : public ::testing::Test {
 protected:
  Node& Add(const std::string& id, std::optional<std::string> seed = {}) {
    Node& node = nodes_.emplace_back(store_, id, std::move(seed));
    node.due = now_;
    return node;
  }

  /// Lets time pass, and every node do what is due.
  void Run(Micros time) {
    const SteadyTime end = now_ + time;
    for (;;) {
      Node* next = nullptr;
      for (Node& node : nodes_) {
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

  VersionRef Current() { return **store_.ReadCurrent(); }
  NodeRecord RecordOf(const Node& node) { return store_.GetContent().nodes[node.id()]; }

  FakeClock clock_{WallTime{std::chrono::hours(24 * 365 * 50)}};
  SteadyTime now_{seconds(1)};
  FakeControlStore store_{clock_};
  std::deque<Node> nodes_;
};

TEST_F(RuleSyncTest, ANodeStartsWithTheCurrentVersionAndPublishesIt) {
  const VersionRef ref = CommitText(store_, "one");
  Node& node = Add("a");
  Run(Micros(0));
  EXPECT_EQ(node.rules, "one");
  EXPECT_TRUE(node.settled());
  EXPECT_EQ(node.Stats().origin, RulesOrigin::kStore);
  EXPECT_EQ(node.Stats().active, ref);
  EXPECT_EQ(RecordOf(node).active, ref);
  EXPECT_EQ(RecordOf(node).address, "a:8080");
  EXPECT_EQ(RecordOf(node).active_since, clock_.Now());
  EXPECT_EQ(node.copy.version->text, "one");
}

TEST_F(RuleSyncTest, EveryNodeFollowsACommitWithinASecond) {
  VersionRef last = CommitText(store_, "one");
  for (int i = 0; i < 5; ++i) Add(std::to_string(i));
  Run(Micros(0));
  const Version next = MakeVersion({.epoch = 1, .number = 2}, "two", {.time = clock_.Now()});
  ASSERT_TRUE(store_.Commit(next, last, {})->committed);
  Run(milliseconds(1100));
  for (Node& node : nodes_) {
    EXPECT_EQ(node.rules, "two");
    EXPECT_EQ(node.activations, 2);
    EXPECT_EQ(RecordOf(node).active, next.info.ref);
    EXPECT_EQ(node.Stats().propagation.last, milliseconds(900));
    EXPECT_EQ(node.copy.version->text, "two");
  }
  Run(seconds(10));
  for (const Node& node : nodes_) EXPECT_EQ(node.activations, 2) << "nothing new";
}

TEST_F(RuleSyncTest, ReadsAreASecondApartWithJitter) {
  Add("a");
  CommitText(store_, "one");
  for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{200'000}}) {
    RuleSync sync(store_, nullptr, {.node = {.id = "x"}},
                  {.activate = [](const Version&) { return LoadReport{.activated = true}; },
                   .random = [=] { return random; }});
    EXPECT_EQ(sync.Step(now_), now_ + milliseconds(900) + Micros(random));
  }
}

TEST_F(RuleSyncTest, AVersionThatCannotBeUsedIsRejectedOnceAndTheOldOneKept) {
  CommitText(store_, "one");
  Node& node = Add("a");
  node.unusable = "bad";
  Run(Micros(0));
  const VersionRef bad = CommitText(store_, "bad");
  Run(seconds(5));
  EXPECT_EQ(node.rules, "one");
  EXPECT_EQ(node.activations, 2);
  EXPECT_EQ(RecordOf(node).rejected, bad);
  EXPECT_EQ(RecordOf(node).error, "line 1: unknown field");
  EXPECT_EQ(StateOf(RecordOf(node), bad, clock_.Now()), NodeState::kRejected);
  EXPECT_EQ(node.copy.version->text, "one");
  const VersionRef good = CommitText(store_, "good");
  Run(seconds(1));
  EXPECT_EQ(node.rules, "good");
  EXPECT_EQ(RecordOf(node).rejected, VersionRef{});
  EXPECT_EQ(StateOf(RecordOf(node), good, clock_.Now()), NodeState::kOk);
}

TEST_F(RuleSyncTest, WithoutTheStoreTheRulesStayAndFailuresAreCounted) {
  CommitText(store_, "one");
  Node& node = Add("a");
  Run(Micros(0));
  const SteadyTime last_read = now_;
  store_.SetFailure(kAway);
  Run(seconds(3));
  EXPECT_EQ(node.rules, "one");
  EXPECT_FALSE(node.Stats().up);
  EXPECT_EQ(node.Stats().consecutive_failures, 3U);
  EXPECT_EQ(node.Stats().last_error, kAway.message);
  EXPECT_EQ(node.Stats().last_good_read, last_read);
  store_.SetFailure({});
  CommitText(store_, "two");
  Run(seconds(1));
  EXPECT_EQ(node.rules, "two");
  EXPECT_TRUE(node.Stats().up);
  EXPECT_EQ(node.Stats().consecutive_failures, 0U);
  EXPECT_EQ(std::ranges::count(node.events, SyncEventKind::kStoreFailed), 1);
  EXPECT_EQ(std::ranges::count(node.events, SyncEventKind::kStoreRecovered), 1);
}

TEST_F(RuleSyncTest, AVersionThatIsMissingInTheStoreIsAFailedRead) {
  CommitText(store_, "one");
  Node& node = Add("a");
  Run(Micros(0));
  CommitText(store_, "two");
  FakeControlStore::Content content = store_.GetContent();
  content.versions.erase({.epoch = 1, .number = 2});
  store_.SetContent(content);
  Run(seconds(1));
  EXPECT_EQ(node.rules, "one");
  EXPECT_THAT(node.Stats().last_error, HasSubstr("version 1.2 is not in the store"));
}

TEST_F(RuleSyncTest, AStartWithoutTheStoreUsesTheLastGoodCopy) {
  store_.SetFailure(kAway);
  Node& node = Add("a", "seed");
  node.copy.version = NextVersion({}, "copy");
  Run(Micros(0));
  EXPECT_TRUE(node.settled());
  EXPECT_EQ(node.rules, "copy");
  EXPECT_EQ(node.Stats().origin, RulesOrigin::kLastGood);
  store_.SetFailure({});
  CommitText(store_, "other");
  Run(seconds(1));
  EXPECT_EQ(node.rules, "other");
  EXPECT_EQ(node.Stats().origin, RulesOrigin::kStore);
}

TEST_F(RuleSyncTest, AStartWithoutStoreAndCopyUsesTheSeedUntilTheStoreIsThere) {
  store_.SetFailure(kAway);
  Node& node = Add("a", "seed");
  Run(Micros(0));
  EXPECT_TRUE(node.settled());
  EXPECT_EQ(node.rules, "seed");
  EXPECT_EQ(node.Stats().origin, RulesOrigin::kSeed);
  EXPECT_EQ(node.Stats().active, VersionRef{});
  store_.SetFailure({});
  Run(seconds(4));
  EXPECT_EQ(Current().id, (VersionId{.epoch = 1, .number = 1}));
  EXPECT_EQ(node.Stats().active, Current());
}

TEST_F(RuleSyncTest, AStartWithoutAnythingHasNoRulesUntilThereIsAVersion) {
  Node& away = Add("a");
  store_.SetFailure(kAway);
  Run(Micros(0));
  EXPECT_TRUE(away.settled());
  EXPECT_EQ(away.Stats().origin, RulesOrigin::kNone);
  EXPECT_EQ(away.Stats().last_error, kAway.message);
  store_.SetFailure({});
  Node& empty = Add("b");
  Run(seconds(2));
  EXPECT_TRUE(empty.settled());
  EXPECT_EQ(empty.Stats().origin, RulesOrigin::kNone);
  CommitText(store_, "one");
  Run(seconds(2));
  EXPECT_EQ(away.rules, "one");
  EXPECT_EQ(empty.rules, "one");
}

TEST_F(RuleSyncTest, AnEmptyStoreIsSeededOnceAfterAWait) {
  Node& a = Add("a", "seed of a");
  Node& b = Add("b", "seed of b");
  Run(milliseconds(1100));
  EXPECT_EQ(*store_.ReadCurrent(), std::nullopt);
  EXPECT_FALSE(a.settled());
  Run(seconds(2));
  EXPECT_EQ(Current().id, (VersionId{.epoch = 1, .number = 1}));
  EXPECT_EQ(store_.ReadVersion(Current().id).value()->info.source, VersionSource::kSeed);
  EXPECT_EQ(a.rules, "seed of a");
  EXPECT_EQ(b.rules, "seed of a");
  EXPECT_THAT(a.events, Contains(SyncEventKind::kSeeded));
  EXPECT_THAT(b.events, Contains(SyncEventKind::kSeedIgnored));
  EXPECT_EQ(store_.ReadAudit(0, 10)->size(), 1U);
  EXPECT_EQ(store_.ReadAudit(0, 10)->front().event.action, "rules.seed");
}

TEST_F(RuleSyncTest, ASeedIsIgnoredIfTheStoreHasAVersion) {
  CommitText(store_, "one");
  Node& node = Add("a", "seed");
  Run(seconds(3));
  EXPECT_EQ(node.rules, "one");
  EXPECT_EQ(node.activations, 1);
  EXPECT_THAT(node.events, Contains(SyncEventKind::kSeedIgnored));
}

TEST_F(RuleSyncTest, AFlushedStoreGetsTheVersionOfTheNodesInANewEpoch) {
  CommitText(store_, "one");
  const VersionRef lost = CommitText(store_, "two");
  for (int i = 0; i < 3; ++i) Add(std::to_string(i));
  Run(milliseconds(500));
  store_.SetContent({});
  Run(seconds(3));
  const VersionRef restored = Current();
  EXPECT_EQ(restored.id, (VersionId{.epoch = 2, .number = 3}));
  EXPECT_EQ(restored.hash, lost.hash);
  const auto version = *store_.ReadVersion(restored.id);
  EXPECT_EQ(version->info.source, VersionSource::kRecovered);
  EXPECT_EQ(version->info.restores, lost.id);
  std::uint64_t restores = 0;
  for (const Node& node : nodes_) {
    EXPECT_EQ(node.rules, "two");
    EXPECT_EQ(node.Stats().active, restored);
    EXPECT_THAT(node.events, Contains(SyncEventKind::kVersionsLost));
    restores += node.Stats().restores;
  }
  EXPECT_EQ(restores, 1U);
  EXPECT_EQ(FindHistoryProblem(store_), "");
  EXPECT_EQ(store_.ReadAudit(0, 10)->front().event.action, "rules.recover");
}

TEST_F(RuleSyncTest, TheNodeWithTheNewestVersionRestores) {
  CommitText(store_, "one");
  Node& old = Add("old build");
  old.unusable = "two";
  Node& recent = Add("recent build");
  Run(Micros(0));
  CommitText(store_, "two");
  Run(seconds(1));
  ASSERT_EQ(old.rules, "one");
  store_.SetContent({});
  Run(seconds(4));
  EXPECT_EQ(store_.ReadVersion(Current().id).value()->text, "two");
  EXPECT_EQ(old.Stats().restores, 0U);
  EXPECT_EQ(recent.Stats().restores, 1U);
  EXPECT_EQ(Current().id, (VersionId{.epoch = 2, .number = 3}));
}

TEST_F(RuleSyncTest, WithoutTheNewestNodeTheNextOneRestores) {
  CommitText(store_, "one");
  Node& old = Add("old build");
  old.unusable = "two";
  Run(Micros(0));
  CommitText(store_, "two");
  Run(seconds(1));
  store_.SetContent({});
  Run(seconds(4));
  EXPECT_EQ(store_.ReadVersion(Current().id).value()->text, "one");
  EXPECT_EQ(Current().id, (VersionId{.epoch = 2, .number = 3}));
}

TEST_F(RuleSyncTest, AStoreThatWentBackInTimeGetsTheNewestVersionAgain) {
  CommitText(store_, "one");
  const FakeControlStore::Content snapshot = store_.GetContent();
  Node& node = Add("a");
  Run(Micros(0));
  CommitText(store_, "two");
  CommitText(store_, "three");
  Run(seconds(1));
  ASSERT_EQ(node.rules, "three");
  store_.SetContent(snapshot);
  Run(seconds(3));
  EXPECT_EQ(node.rules, "three");
  EXPECT_EQ(Current().id, (VersionId{.epoch = 2, .number = 4}));
  EXPECT_EQ(store_.ListVersions()->size(), 2U);
  EXPECT_EQ(FindHistoryProblem(store_), "");
}

TEST_F(RuleSyncTest, ALaterCommitWithTheNumberOfALostOneIsFollowed) {
  CommitText(store_, "one");
  const FakeControlStore::Content replica = store_.GetContent();
  Node& node = Add("a");
  Run(Micros(0));
  const VersionRef first = *replica.current;
  const auto commit = [&](const std::string& text) {
    return store_.Commit(MakeVersion({.epoch = 1, .number = 2}, text, {.time = clock_.Now()}),
                         first, {});
  };
  ASSERT_TRUE(commit("lost by a failover")->committed);
  Run(seconds(1));
  store_.SetContent(replica);
  ASSERT_TRUE(commit("committed after it")->committed);
  Run(seconds(4));
  EXPECT_EQ(node.rules, "committed after it");
  EXPECT_EQ(Current().id, (VersionId{.epoch = 1, .number = 2}));
  EXPECT_EQ(node.Stats().restores, 0U);
}

TEST_F(RuleSyncTest, AStoreThatWasSeededAnewWhileNodesLiveGetsTheirVersion) {
  CommitText(store_, "one");
  const VersionRef lost = CommitText(store_, "two");
  Node& node = Add("a");
  Run(Micros(0));
  store_.SetContent({});
  CommitText(store_, "seed of another node");
  Run(seconds(4));
  EXPECT_EQ(node.rules, "two");
  EXPECT_EQ(Current().hash, lost.hash);
  EXPECT_EQ(Current().id, (VersionId{.epoch = 2, .number = 3}));
}

TEST_F(RuleSyncTest, AStartingNodeDoesNotSeedWhileALiveNodeHasRules) {
  CommitText(store_, "one");
  Node& live = Add("live");
  Run(Micros(0));
  store_.SetContent({});
  Node& starting = Add("starting", "seed");
  Run(seconds(4));
  EXPECT_EQ(live.rules, "one");
  EXPECT_EQ(starting.rules, "one");
  EXPECT_EQ(starting.activations, 1);
  EXPECT_EQ(Current().id.epoch, 2U);
}

TEST_F(RuleSyncTest, AnEmptyStoreGetsTheLastGoodCopyRatherThanTheSeed) {
  Node& seeds = Add("a", "seed");
  Node& copies = Add("b", "seed");
  copies.copy.version = MakeVersion({.epoch = 1, .number = 7}, "copy");
  Run(Micros(0));
  EXPECT_EQ(copies.rules, "copy") << "never without rules";
  Run(seconds(4));
  EXPECT_EQ(seeds.rules, "copy");
  EXPECT_EQ(Current().id, (VersionId{.epoch = 2, .number = 8}));
}

TEST_F(RuleSyncTest, ALastGoodCopyNeverReplacesAVersionOfTheStore) {
  const VersionRef current = CommitText(store_, "one");
  store_.SetFailure(kAway);
  Node& node = Add("a");
  node.copy.version = MakeVersion({.epoch = 5, .number = 70}, "of another store");
  Run(seconds(1));
  EXPECT_EQ(node.rules, "of another store");
  store_.SetFailure({});
  Run(seconds(4));
  EXPECT_EQ(node.rules, "one");
  EXPECT_EQ(Current(), current);
}

TEST_F(RuleSyncTest, ACopyYieldsToALiveNodeThatFollowedTheStore) {
  CommitText(store_, "one");
  Node& live = Add("live");
  Run(Micros(0));
  store_.SetContent({});
  Node& starting = Add("starting");
  starting.copy.version = MakeVersion({.epoch = 5, .number = 70}, "of another store");
  Run(seconds(4));
  EXPECT_EQ(live.rules, "one");
  EXPECT_EQ(starting.rules, "one");
}

TEST_F(RuleSyncTest, ACopyThatCannotBeSavedIsReportedAndTheRulesAreUsed) {
  CommitText(store_, "one");
  Node& node = Add("a");
  node.copy.failure = Error{ErrorCode::kStoreError, "/state: read-only"};
  Run(Micros(0));
  EXPECT_EQ(node.rules, "one");
  EXPECT_THAT(node.events, Contains(SyncEventKind::kCopyFailed));
}

TEST_F(RuleSyncTest, AStartWithAnUnusableVersionUsesTheLastGoodCopy) {
  const VersionRef bad = CommitText(store_, "bad");
  Node& node = Add("a");
  node.unusable = "bad";
  node.copy.version = MakeVersion({.epoch = 1, .number = 1}, "copy");
  Run(Micros(0));
  EXPECT_EQ(node.rules, "copy");
  EXPECT_EQ(RecordOf(node).rejected, bad);
}

TEST_F(RuleSyncTest, ARestoreWithoutAnAnswerIsFoundInTheStore) {
  CommitText(store_, "one");
  Node& node = Add("a");
  Run(Micros(0));
  store_.SetContent({});
  store_.SetCommitAnswer(Error{ErrorCode::kStoreTimeout, "no reply"});
  Run(seconds(5));
  EXPECT_EQ(Current().id, (VersionId{.epoch = 2, .number = 2}));
  EXPECT_EQ(node.Stats().active, Current());
  EXPECT_EQ(store_.ListVersions()->size(), 1U);
}

TEST(PropagationTimes, AreCountedByTheirBounds) {
  PropagationTimes times;
  for (const Micros time : {Micros(-5), Micros(0), Micros(10'000), Micros(10'001),
                            Micros(2'000'000), Micros(2'000'001)}) {
    times.Add(time);
  }
  EXPECT_THAT(times.counts, ::testing::ElementsAre(3, 1, 0, 0, 0, 0, 0, 1, 1));
  EXPECT_EQ(times.last, Micros(2'000'001));
}

}  // namespace
}  // namespace sluice::control
