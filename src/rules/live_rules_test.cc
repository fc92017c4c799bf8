#include "rules/live_rules.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/fingerprint.h"
#include "rules/rule_set.h"
#include "rules/testing/folder.h"

namespace sluice::rules {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr WallTime kStart{seconds(1'800'000'000)};

// A rule file with one limit of so many.
std::string Limited(int limit) {
  return "rules:\n  - id: all\n    per: []\n    limit: " + std::to_string(limit) +
         "\n    window: 60\n";
}

// The one number of a rule set that was made of it.
std::int64_t LimitOf(const RuleSet* rules) {
  return rules->file().rules.front().variants.usual.front().limit.cap();
}

std::vector<std::uint64_t> Numbers(const LiveRules& live) {
  std::vector<std::uint64_t> numbers;
  for (const RulesVersion& version : live.Versions()) numbers.push_back(version.number);
  return numbers;
}

TEST(FingerprintTest, IsWhatSha256sumPrints) {
  EXPECT_EQ(Fingerprint(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Fingerprint("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(LiveRulesTest, ThereAreNoneAtFirst) {
  const LiveRules live;
  RulesReader reader(live);
  EXPECT_EQ(reader.Get(), nullptr);
  EXPECT_EQ(live.Active(), nullptr);
  EXPECT_EQ(live.Status().active.number, 0U);
  EXPECT_FALSE(live.Status().failing);
}

TEST(LiveRulesTest, NewRulesReplaceTheOldOnesForEveryReader) {
  LiveRules live;
  RulesReader early(live);
  EXPECT_EQ(live.Load("rules.yaml", Limited(1), kStart).outcome, LoadOutcome::kActivated);
  RulesReader late(live);
  EXPECT_EQ(LimitOf(early.Get()), 1);
  EXPECT_EQ(LimitOf(late.Get()), 1);
  const LoadReport report = live.Load("rules.yaml", Limited(2), kStart + seconds(1));
  EXPECT_EQ(report.outcome, LoadOutcome::kActivated);
  EXPECT_EQ(report.version, 2U);
  EXPECT_EQ(LimitOf(early.Get()), 2);
  EXPECT_EQ(early.version(), 2U);
  EXPECT_EQ(LimitOf(late.Get()), 2);
}

TEST(LiveRulesTest, AReaderKeepsWhatItHoldsUntilItLooksAgain) {
  LiveRules live(0);
  live.Load("rules.yaml", Limited(1), kStart);
  RulesReader reader(live);
  const RuleSet* const held = reader.Get();
  const std::shared_ptr<const RuleSet> shared = reader.held();
  for (int i = 2; i < 5; ++i) live.Load("rules.yaml", Limited(i), kStart);
  EXPECT_EQ(LimitOf(held), 1);
  EXPECT_EQ(LimitOf(reader.Get()), 4);
  EXPECT_EQ(LimitOf(shared.get()), 1);
}

TEST(LiveRulesTest, WhatNobodyHoldsIsGone) {
  LiveRules live(1);
  live.Load("rules.yaml", Limited(1), kStart);
  RulesReader reader(live);
  reader.Get();
  const std::weak_ptr<const RuleSet> first = reader.held();
  live.Load("rules.yaml", Limited(2), kStart);
  live.Load("rules.yaml", Limited(3), kStart);
  EXPECT_FALSE(first.expired());  // The reader has not looked yet.
  reader.Get();
  EXPECT_TRUE(first.expired());
}

TEST(LiveRulesTest, ABadFileIsToldWithAllItsMistakesAndTheOldRulesStay) {
  LiveRules live;
  live.Load("rules.yaml", Limited(1), kStart);
  const LoadReport report =
      live.Load("rules.yaml", "rules:\n  - id: a\n    limt: 5\n  - id: b\n    colour: red\n",
                kStart + seconds(5));
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  EXPECT_EQ(report.version, 1U);
  EXPECT_GE(report.mistakes.size(), 2U);
  const RulesStatus status = live.Status();
  EXPECT_EQ(status.active.number, 1U);
  EXPECT_EQ(status.last_error, report.mistakes);
  EXPECT_EQ(status.last_error_at, kStart + seconds(5));
  EXPECT_EQ(status.last_good_load, kStart);
  EXPECT_TRUE(status.failing);
  EXPECT_EQ(status.good_loads, 1U);
  EXPECT_EQ(status.failed_loads, 1U);
  EXPECT_EQ(LimitOf(RulesReader(live).Get()), 1);
}

TEST(LiveRulesTest, AFileThatCanNotBeReadIsABadFile) {
  LiveRules live;
  live.Load("rules.yaml", Limited(1), kStart);
  const LoadReport report =
      live.Load({.path = "rules.yaml", .content = {}, .error = "can't be opened"}, kStart);
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  ASSERT_THAT(live.Status().last_error, SizeIs(1));
  EXPECT_EQ(Describe(live.Status().last_error[0]), "rules.yaml: can't be opened");
}

TEST(LiveRulesTest, AnEmptyFileDoesNotLiftAllLimits) {
  LiveRules live;
  live.Load("rules.yaml", Limited(1), kStart);
  for (const char* content : {"", "\n", "# Nothing but a comment.\n", "---\n"}) {
    EXPECT_EQ(live.Load("rules.yaml", content, kStart).outcome, LoadOutcome::kRefused) << content;
  }
  EXPECT_EQ(LimitOf(RulesReader(live).Get()), 1);
}

TEST(LiveRulesTest, TheSameContentIsNoNewVersionButAGoodLoad) {
  LiveRules live;
  live.Load("rules.yaml", Limited(1), kStart);
  const auto first = live.Active();
  live.Load("rules.yaml", "nonsense: [", kStart + seconds(1));
  const LoadReport report = live.Load("rules.yaml", Limited(1), kStart + seconds(2));
  EXPECT_EQ(report.outcome, LoadOutcome::kUnchanged);
  EXPECT_EQ(report.version, 1U);
  EXPECT_EQ(live.Active(), first);
  const RulesStatus status = live.Status();
  EXPECT_EQ(status.active.since, kStart);
  EXPECT_EQ(status.last_good_load, kStart + seconds(2));
  EXPECT_FALSE(status.failing);
  EXPECT_THAT(status.last_error, Not(IsEmpty()));  // It is still the last one.
}

TEST(LiveRulesTest, AVersionKnowsItsContentItsFileAndItsTime) {
  LiveRules live;
  live.Load("/etc/sluice/rules.yaml", Limited(7), kStart);
  const RulesVersion active = live.Status().active;
  EXPECT_EQ(active.fingerprint, Fingerprint(Limited(7)));
  EXPECT_EQ(active.file, "/etc/sluice/rules.yaml");
  EXPECT_EQ(active.since, kStart);
  EXPECT_EQ(active.restores, 0U);
}

TEST(LiveRulesTest, SoManyVersionsAreKeptAsAskedFor) {
  LiveRules live(2);
  for (int i = 1; i <= 5; ++i) live.Load("rules.yaml", Limited(i), kStart);
  EXPECT_THAT(Numbers(live), ElementsAre(3, 4, 5));
}

TEST(LiveRulesTest, ARollbackIsANewVersionWithOldContent) {
  LiveRules live;
  RulesReader reader(live);
  for (int i = 1; i <= 3; ++i) live.Load("rules.yaml", Limited(i), kStart);
  EXPECT_EQ(live.Rollback(1, kStart + seconds(9)), 4U);
  EXPECT_EQ(LimitOf(reader.Get()), 1);
  const RulesVersion active = live.Status().active;
  EXPECT_EQ(active.number, 4U);
  EXPECT_EQ(active.restores, 1U);
  EXPECT_EQ(active.since, kStart + seconds(9));
  EXPECT_EQ(active.fingerprint, Fingerprint(Limited(1)));
  EXPECT_THAT(Numbers(live), ElementsAre(1, 2, 3, 4));
}

TEST(LiveRulesTest, AfterARollbackOtherContentIsLoadedAsEver) {
  LiveRules live;
  for (int i = 1; i <= 2; ++i) live.Load("rules.yaml", Limited(i), kStart);
  live.Rollback(1, kStart);
  EXPECT_EQ(live.Load("rules.yaml", Limited(2), kStart).version, 4U);
  EXPECT_EQ(LimitOf(live.Active().get()), 2);
}

TEST(LiveRulesTest, ARollbackToWhatIsActiveOrUnknownChangesNothing) {
  LiveRules live(1);
  for (int i = 1; i <= 3; ++i) live.Load("rules.yaml", Limited(i), kStart);
  EXPECT_EQ(live.Rollback(3, kStart), 3U);
  EXPECT_EQ(live.Rollback(1, kStart), std::nullopt);  // Not kept any longer.
  EXPECT_EQ(live.Rollback(99, kStart), std::nullopt);
  EXPECT_EQ(live.Status().active.number, 3U);
}

// Under the sanitizers this finds what is freed or torn under a reader.
TEST(LiveRulesTest, ReadersSeeWholeRuleSetsWhileOthersAreLoaded) {
  LiveRules live(2);
  live.Load("rules.yaml", Limited(1), kStart);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  const auto read = [&] {
    RulesReader reader(live);
    Match match;
    std::uint64_t last = 0;
    const std::vector<Attribute> attributes{{"api_key", "sk_1"}};
    do {
      reader.Get()->Find(attributes, 1, match);
      const bool whole =
          match.limits().size() == 1 &&
          static_cast<std::uint64_t>(match.limits()[0].limit->limit.cap()) == reader.version();
      if (!whole || reader.version() < last) ++wrong;
      last = reader.version();
    } while (!done);
    if (last == 0) ++wrong;
  };
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(read);
  for (int i = 2; i <= 200; ++i) live.Load("rules.yaml", Limited(i), kStart);
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(LimitOf(RulesReader(live).Get()), 200);
}

TEST(LiveRulesTest, AWatchedFileIsTakenWhenItIsGoodAndToldWhenItIsNot) {
  const testing::Folder folder;
  testing::ConfigMapVolume volume(folder / "mount", "rules.yaml", Limited(1));
  FileWatcher watcher(volume.file());
  LiveRules live;
  SteadyTime now{seconds(1000)};
  const auto take = [&] {
    for (const SteadyTime end = now + seconds(1); now < end; now += std::chrono::milliseconds(10)) {
      if (const auto change = watcher.Look(now)) live.Load(*change, kStart);
    }
  };
  take();
  EXPECT_EQ(LimitOf(live.Active().get()), 1);
  volume.Update("rules: [");
  take();
  EXPECT_TRUE(live.Status().failing);
  EXPECT_THAT(Describe(live.Status().last_error.at(0)), HasSubstr(volume.file()));
  EXPECT_EQ(LimitOf(live.Active().get()), 1);
  volume.Update(Limited(2));
  take();
  EXPECT_FALSE(live.Status().failing);
  EXPECT_EQ(LimitOf(live.Active().get()), 2);
  std::filesystem::remove(volume.file());
  take();
  EXPECT_TRUE(live.Status().failing);
  EXPECT_EQ(LimitOf(live.Active().get()), 2);
}

}  // namespace
}  // namespace sluice::rules
