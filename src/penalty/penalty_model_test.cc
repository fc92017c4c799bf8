// Several nodes and one store, with a slow model of what callers deserve: nodes see each other's
// penalties late, notice the same offenses, and the store's clock jumps.

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "base/testing/seed.h"
#include "control/testing/fake_record_service.h"
#include "match/entry_text.h"
#include "penalty/offense_writer.h"

namespace sluice::penalty {
namespace {

using control::Record;
using control::RecordKind;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr WallTime kModelStart{seconds(1'900'000'000)};

/// A node's view of the store: as it was when the node last read it.
class StaleRecords final : public control::RecordService {
 public:
  StaleRecords(control::RecordService& store, const Clock& clock) : store_(store), clock_(clock) {}

  void Read() { known_ = store_.List(RecordKind::kPenalty, "", 1000, {}); }
  [[nodiscard]] const std::vector<Record>& known() const { return known_; }

  std::optional<Record> Find(RecordKind /*kind*/, std::string_view id) override {
    for (const Record& record : known_) {
      if (record.id == id && !record.IsExpired(clock_.Now())) return record;
    }
    return std::nullopt;
  }
  std::vector<Record> List(RecordKind /*kind*/, std::string_view /*after*/, std::size_t /*limit*/,
                           const std::function<bool(const Record&)>& /*filter*/) override {
    return known_;
  }
  Result<control::RecordChangeResult> Write(std::span<const control::RecordWrite> writes,
                                            const control::RecordAudit& audit) override {
    return store_.Write(writes, audit);
  }

 private:
  control::RecordService& store_;
  const Clock& clock_;
  std::vector<Record> known_;
};

struct Node {
  Node(control::RecordService& store, const FakeClock& clock, std::mt19937_64& random,
       std::size_t max_penalties = 20'000)
      : records(store, clock),
        entries(live, {.now = [&clock] { return clock.Now(); }}),
        writer(records, entries,
               {.max_penalties = max_penalties, .random = [&random] { return random(); }}) {}

  void Read() {
    records.Read();
    entries.Apply(records.known(), true);
  }
  [[nodiscard]] std::uint64_t OffensesOf(const std::string& id) const {
    const auto past = entries.FindPenalty(id);
    return past == nullptr ? 0 : past->entry.penalty->offenses;
  }

  StaleRecords records;
  Live<match::EntrySet> live;
  control::EntryService entries;
  OffenseWriter writer;
};

Strike ModelStrike(const std::string& caller, const rules::Penalty& penalty) {
  Strike strike;
  strike.offender.match.push_back({.attribute = "api_key", .value = caller});
  strike.offender.penalty.emplace();
  strike.offender.id = match::PenaltyIdOf(strike.offender, "r");
  strike.rule = "r";
  strike.penalty = penalty;
  return strike;
}

rules::Penalty ModelPenalty(std::vector<Micros> steps, Micros forget) {
  rules::Penalty penalty;
  penalty.denials = 3;
  penalty.within = minutes(1);
  penalty.steps = std::move(steps);
  penalty.forget = forget;
  return penalty;
}

/// What one caller deserves, kept second by second.
struct SlowCaller {
  int step = 0;
  std::int64_t blocked_for = 0;  ///< Seconds.
  std::int64_t quiet_for = 0;    ///< Since the end of the last block.
  std::uint64_t offenses = 0;

  void PassSecond(std::int64_t forget) {
    if (blocked_for > 0) {
      --blocked_for;
      return;
    }
    if (step > 0 && ++quiet_for == forget) {
      --step;
      quiet_for = 0;
    }
  }
  bool Offend(const std::vector<Micros>& steps) {
    if (blocked_for > 0) return false;
    step = std::min(step + 1, static_cast<int>(steps.size()));
    blocked_for = steps[static_cast<std::size_t>(step - 1)] / seconds(1);
    quiet_for = 0;
    ++offenses;
    return true;
  }
};

TEST(PenaltyModelTest, NodesTogetherPenalizeEachOffenseOnceAndAsTheModelSays) {
  std::mt19937_64 random(TestSeed());
  const auto pick = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  for (int round = 0; round < 20; ++round) {
    const rules::Penalty penalty =
        ModelPenalty({seconds(3), seconds(10), seconds(40)}, seconds(15 + pick(60)));
    FakeClock clock(kModelStart);
    control::testing::FakeRecordService store(clock);
    std::vector<std::unique_ptr<Node>> nodes;
    for (int i = 0; i < 4; ++i) nodes.push_back(std::make_unique<Node>(store, clock, random));
    std::map<std::string, SlowCaller> callers{{"a", {}}, {"b", {}}, {"c", {}}};
    for (int second = 0; second < 600; ++second) {
      for (auto& [name, model] : callers) {
        const bool offends = pick(4) == 0;
        if (!offends) continue;
        const Strike strike = ModelStrike(name, penalty);
        const bool deserves = model.Offend(penalty.steps);
        // All nodes notice it, each with what it knows, some of them before they learn of the last
        // penalty; one has read the store.
        nodes[pick(nodes.size())]->Read();
        std::size_t written = 0;
        std::vector<std::size_t> order{0, 1, 2, 3};
        std::shuffle(order.begin(), order.end(), random);
        for (const std::size_t i : order) {
          const Offense offense{.strike = strike,
                                .offenses = nodes[i]->OffensesOf(strike.offender.id)};
          written += nodes[i]->writer.Write({&offense, 1}, clock.Now(), "1").penalized;
        }
        ASSERT_EQ(written, deserves ? 1U : 0U) << name << " in second " << second;
        const auto record = store.Find(RecordKind::kPenalty, strike.offender.id);
        ASSERT_TRUE(record);
        const auto entry = match::ReadStoredEntry(record->id, record->text).entry;
        ASSERT_TRUE(entry);
        ASSERT_EQ(static_cast<int>(entry->penalty->step), model.step) << name << " " << second;
        ASSERT_EQ((entry->expires_at - clock.Now()) / seconds(1), model.blocked_for);
        ASSERT_EQ(record->expires_at, entry->penalty->forgotten_at);
      }
      clock.Advance(seconds(1));
      for (auto& [name, model] : callers) model.PassSecond(penalty.forget / seconds(1));
      for (const auto& node : nodes) {
        if (pick(3) == 0) node->Read();
      }
    }
  }
}

TEST(PenaltyModelTest, AClockThatJumpsNeitherStacksPenaltiesNorEndsThemWithoutTime) {
  std::mt19937_64 random(TestSeed());
  const rules::Penalty penalty = ModelPenalty({minutes(1), minutes(10), hours(1)}, hours(2));
  FakeClock clock(kModelStart);
  control::testing::FakeRecordService store(clock);
  Node one(store, clock, random);
  Node other(store, clock, random);
  const Strike strike = ModelStrike("a", penalty);
  std::uint64_t offenses = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto jump = static_cast<std::int64_t>(random() % 20'000) - 9'000;
    clock.Set(std::max(kModelStart, clock.Now() + seconds(jump)));
    one.Read();
    other.Read();
    const auto before = store.Find(RecordKind::kPenalty, strike.offender.id);
    std::size_t written = 0;
    for (Node* const node : {&one, &other}) {
      const Offense offense{.strike = strike, .offenses = node->OffensesOf(strike.offender.id)};
      written += node->writer.Write({&offense, 1}, clock.Now(), "1").penalized;
    }
    const auto after = store.Find(RecordKind::kPenalty, strike.offender.id);
    ASSERT_TRUE(after);
    const auto entry = match::ReadStoredEntry(after->id, after->text).entry;
    ASSERT_TRUE(entry);
    if (!before) offenses = 0;  // Forgotten.
    if (before) {
      const auto was = match::ReadStoredEntry(before->id, before->text).entry;
      ASSERT_EQ(written, was->expires_at > clock.Now() ? 0U : 1U);
    } else {
      ASSERT_EQ(written, 1U);
    }
    offenses += written;
    ASSERT_EQ(entry->penalty->offenses, offenses);
    ASSERT_GE(entry->penalty->step, 1U);
    ASSERT_LE(entry->penalty->step, 3U);
    if (written > 0) {
      ASSERT_EQ(entry->expires_at - clock.Now(), penalty.steps[entry->penalty->step - 1]);
    }
  }
}

TEST(PenaltyModelTest, TheNextToEndGivesWayBeyondTheBoundAndOperatorsEntriesStay) {
  std::mt19937_64 random(TestSeed());
  FakeClock clock(kModelStart);
  control::testing::FakeRecordService store(clock);
  Node node(store, clock, random, /*max_penalties=*/10);
  const auto offend = [&](const std::string& caller, Micros duration) {
    node.Read();
    const Offense offense{.strike = ModelStrike(caller, ModelPenalty({duration}, hours(1)))};
    return node.writer.Write({&offense, 1}, clock.Now(), "1");
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(offend("k" + std::to_string(i), minutes(60 - i)).displaced, 0U);
  }
  const OffenseResult result = offend("new", minutes(30));
  EXPECT_EQ(result.penalized, 1U);
  EXPECT_EQ(result.displaced, 1U);
  const auto id_of = [](const std::string& caller) { return ModelStrike(caller, {}).offender.id; };
  EXPECT_FALSE(store.Find(RecordKind::kPenalty, id_of("k9")));
  EXPECT_TRUE(store.Find(RecordKind::kPenalty, id_of("k0")));
  EXPECT_TRUE(store.Find(RecordKind::kPenalty, id_of("new")));
  EXPECT_EQ(store.List(RecordKind::kPenalty, "", 100, {}).size(), 10U);
  for (const control::RecordAudit& audit : store.Audits()) EXPECT_EQ(audit.action, "");
}

}  // namespace
}  // namespace sluice::penalty
