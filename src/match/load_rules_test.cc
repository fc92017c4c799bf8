#include "match/load_rules.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file_watcher.h"
#include "base/fingerprint.h"
#include "base/testing/folder.h"

namespace sluice::match {
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

std::vector<std::uint64_t> Numbers(const Live<RuleSet>& live) {
  std::vector<std::uint64_t> numbers;
  for (const LiveVersion<RuleSet>& version : live.Versions()) numbers.push_back(version.number);
  return numbers;
}

TEST(FingerprintTest, IsWhatSha256sumPrints) {
  EXPECT_EQ(Fingerprint(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Fingerprint("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(LoadRulesTest, ThereAreNoneAtFirst) {
  const Live<RuleSet> live(10);
  LiveReader<RuleSet> reader(live);
  EXPECT_FALSE(reader.Get());
  EXPECT_EQ(live.Active().value, nullptr);
  EXPECT_EQ(live.Active().number, 0U);
  EXPECT_FALSE(live.Status().failing);
}

TEST(LoadRulesTest, NewRulesReplaceTheOldOnesForEveryReader) {
  Live<RuleSet> live(10);
  LiveReader<RuleSet> early(live);
  EXPECT_EQ(LoadRules(live, "rules.yaml", Limited(1), kStart).outcome, LoadOutcome::kActivated);
  LiveReader<RuleSet> late(live);
  EXPECT_EQ(LimitOf(early.Get().get()), 1);
  EXPECT_EQ(LimitOf(late.Get().get()), 1);
  const LoadReport report = LoadRules(live, "rules.yaml", Limited(2), kStart + seconds(1));
  EXPECT_EQ(report.outcome, LoadOutcome::kActivated);
  EXPECT_EQ(report.version, 2U);
  EXPECT_EQ(LimitOf(early.Get().get()), 2);
  EXPECT_EQ(early.version(), 2U);
  EXPECT_EQ(LimitOf(late.Get().get()), 2);
}

TEST(LoadRulesTest, AReaderKeepsWhatItHoldsUntilItLooksAgain) {
  Live<RuleSet> live(0);
  LoadRules(live, "rules.yaml", Limited(1), kStart);
  LiveReader<RuleSet> reader(live);
  const RuleSet* const current = reader.Get().get();
  const Snapshot<RuleSet> kept = reader.Get();
  for (int i = 2; i < 5; ++i) LoadRules(live, "rules.yaml", Limited(i), kStart);
  EXPECT_EQ(LimitOf(current), 1);
  EXPECT_EQ(LimitOf(reader.Get().get()), 4);
  EXPECT_EQ(LimitOf(kept.get()), 1);
}

TEST(LoadRulesTest, AReplacedSnapshotIsFreedWithItsLastOwner) {
  Live<RuleSet> live(1);
  LoadRules(live, "rules.yaml", Limited(1), kStart);
  LiveReader<RuleSet> reader(live);
  reader.Get();
  const std::weak_ptr<const RuleSet> first = live.Active().value;
  LoadRules(live, "rules.yaml", Limited(2), kStart);
  LoadRules(live, "rules.yaml", Limited(3), kStart);
  EXPECT_FALSE(first.expired());  // The reader has not looked yet.
  reader.Get();
  EXPECT_TRUE(first.expired());
}

TEST(LoadRulesTest, ABadFileIsReportedWithAllItsErrorsAndTheOldRulesStay) {
  Live<RuleSet> live(10);
  LoadRules(live, "rules.yaml", Limited(1), kStart);
  const LoadReport report =
      LoadRules(live, "rules.yaml", "rules:\n  - id: a\n    limt: 5\n  - id: b\n    colour: red\n",
                kStart + seconds(5));
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  EXPECT_EQ(report.version, 1U);
  EXPECT_GE(report.errors.size(), 2U);
  const LiveStatus status = live.Status();
  EXPECT_EQ(status.version, 1U);
  EXPECT_EQ(*status.last_error, report.errors);
  EXPECT_EQ(status.last_error_at, kStart + seconds(5));
  EXPECT_EQ(status.last_good_load, kStart);
  EXPECT_TRUE(status.failing);
  EXPECT_EQ(status.good_loads, 1U);
  EXPECT_EQ(status.failed_loads, 1U);
  EXPECT_EQ(LimitOf(LiveReader<RuleSet>(live).Get().get()), 1);
}

TEST(LoadRulesTest, AFileThatCanNotBeReadIsABadFile) {
  Live<RuleSet> live(10);
  LoadRules(live, "rules.yaml", Limited(1), kStart);
  const LoadReport report =
      LoadRules(live, {.path = "rules.yaml", .error = "can't be opened"}, kStart);
  EXPECT_EQ(report.outcome, LoadOutcome::kRefused);
  ASSERT_THAT(*live.Status().last_error, SizeIs(1));
  EXPECT_EQ(live.Status().last_error->at(0), "rules.yaml: can't be opened");
}

TEST(LoadRulesTest, AnEmptyFileDoesNotLiftAllLimits) {
  Live<RuleSet> live(10);
  LoadRules(live, "rules.yaml", Limited(1), kStart);
  for (const char* content : {"", "\n", "# Nothing but a comment.\n", "---\n"}) {
    EXPECT_EQ(LoadRules(live, "rules.yaml", content, kStart).outcome, LoadOutcome::kRefused)
        << content;
  }
  EXPECT_EQ(LimitOf(LiveReader<RuleSet>(live).Get().get()), 1);
}

TEST(LoadRulesTest, TheSameContentIsNoNewVersionButAGoodLoad) {
  Live<RuleSet> live(10);
  LoadRules(live, "rules.yaml", Limited(1), kStart);
  const auto first = live.Active().value;
  LoadRules(live, "rules.yaml", "nonsense: [", kStart + seconds(1));
  const LoadReport report = LoadRules(live, "rules.yaml", Limited(1), kStart + seconds(2));
  EXPECT_EQ(report.outcome, LoadOutcome::kUnchanged);
  EXPECT_EQ(report.version, 1U);
  EXPECT_EQ(live.Active().value, first);
  const LiveStatus status = live.Status();
  EXPECT_EQ(live.Active().since, kStart);
  EXPECT_EQ(status.last_good_load, kStart + seconds(2));
  EXPECT_FALSE(status.failing);
  EXPECT_THAT(*status.last_error, Not(IsEmpty()));  // It is still the last one.
}

TEST(LoadRulesTest, AVersionKnowsItsContentItsFileAndItsTime) {
  Live<RuleSet> live(10);
  LoadRules(live, "/etc/sluice/rules.yaml", Limited(7), kStart);
  const LiveVersion<RuleSet> active = live.Active();
  EXPECT_EQ(active.fingerprint, Fingerprint(Limited(7)));
  EXPECT_EQ(active.source, "/etc/sluice/rules.yaml");
  EXPECT_EQ(active.since, kStart);
  EXPECT_EQ(active.restores, 0U);
}

TEST(LoadRulesTest, SoManyVersionsAreKeptAsAskedFor) {
  Live<RuleSet> live(2);
  for (int i = 1; i <= 5; ++i) LoadRules(live, "rules.yaml", Limited(i), kStart);
  EXPECT_THAT(Numbers(live), ElementsAre(3, 4, 5));
}

TEST(LoadRulesTest, ARollbackIsANewVersionWithOldContent) {
  Live<RuleSet> live(10);
  LiveReader<RuleSet> reader(live);
  for (int i = 1; i <= 3; ++i) LoadRules(live, "rules.yaml", Limited(i), kStart);
  EXPECT_EQ(live.Rollback(1, kStart + seconds(9)), 4U);
  EXPECT_EQ(LimitOf(reader.Get().get()), 1);
  const LiveVersion<RuleSet> active = live.Active();
  EXPECT_EQ(active.number, 4U);
  EXPECT_EQ(active.restores, 1U);
  EXPECT_EQ(active.since, kStart + seconds(9));
  EXPECT_EQ(active.fingerprint, Fingerprint(Limited(1)));
  EXPECT_THAT(Numbers(live), ElementsAre(1, 2, 3, 4));
}

TEST(LoadRulesTest, AfterARollbackOtherContentIsLoadedAsEver) {
  Live<RuleSet> live(10);
  for (int i = 1; i <= 2; ++i) LoadRules(live, "rules.yaml", Limited(i), kStart);
  live.Rollback(1, kStart);
  EXPECT_EQ(LoadRules(live, "rules.yaml", Limited(2), kStart).version, 4U);
  EXPECT_EQ(LimitOf(live.Active().value.get()), 2);
}

TEST(LoadRulesTest, ARollbackToWhatIsActiveOrUnknownChangesNothing) {
  Live<RuleSet> live(1);
  for (int i = 1; i <= 3; ++i) LoadRules(live, "rules.yaml", Limited(i), kStart);
  EXPECT_EQ(live.Rollback(3, kStart), 3U);
  EXPECT_EQ(live.Rollback(1, kStart), std::nullopt);  // Not kept any longer.
  EXPECT_EQ(live.Rollback(99, kStart), std::nullopt);
  EXPECT_EQ(live.Active().number, 3U);
}

// Under the sanitizers this finds what is freed or torn under a reader.
TEST(LoadRulesTest, ReadersSeeWholeRuleSetsWhileOthersAreLoaded) {
  Live<RuleSet> live(2);
  LoadRules(live, "rules.yaml", Limited(1), kStart);
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  const auto read = [&] {
    LiveReader<RuleSet> reader(live);
    Match match;
    std::uint64_t last = 0;
    const std::vector<Attribute> attributes{{"api_key", "sk_1"}};
    do {
      reader.Get()->Find(attributes, 1, WallTime{}, match);
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
  for (int i = 2; i <= 200; ++i) LoadRules(live, "rules.yaml", Limited(i), kStart);
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(LimitOf(LiveReader<RuleSet>(live).Get().get()), 200);
}

TEST(LoadRulesTest, AWatchedFileIsLoadedIfItIsValidAndReportedIfNot) {
  const sluice::testing::Folder folder;
  sluice::testing::ConfigMapVolume volume(folder / "mount", "rules.yaml", Limited(1));
  FileWatcher watcher{WatchedFiles(volume.file())};
  Live<RuleSet> live(10);
  SteadyTime now{seconds(1000)};
  const auto take = [&] {
    for (const SteadyTime end = now + seconds(1); now < end; now += kPollInterval) {
      if (const auto change = watcher.Poll(now)) LoadRules(live, *change, kStart);
    }
  };
  take();
  EXPECT_EQ(LimitOf(live.Active().value.get()), 1);
  volume.Update("rules: [");
  take();
  EXPECT_TRUE(live.Status().failing);
  EXPECT_THAT(live.Status().last_error->at(0), HasSubstr(volume.file()));
  EXPECT_EQ(LimitOf(live.Active().value.get()), 1);
  volume.Update(Limited(2));
  take();
  EXPECT_FALSE(live.Status().failing);
  EXPECT_EQ(LimitOf(live.Active().value.get()), 2);
  std::filesystem::remove(volume.file());
  take();
  EXPECT_TRUE(live.Status().failing);
  EXPECT_EQ(LimitOf(live.Active().value.get()), 2);
}

}  // namespace
}  // namespace sluice::match
