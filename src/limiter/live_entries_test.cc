#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "limiter/limiter.h"
#include "match/load_rules.h"
#include "match/testing/random_entries.h"
#include "store/testing/model_store.h"

namespace sluice::limiter {
namespace {

using match::Entry;
using match::EntryEffect;
using std::chrono::hours;
using std::chrono::seconds;
using store::Operation;

constexpr WallTime kEntryStart{seconds(1'900'000'000)};

Entry EntryOf(std::string id, EntryEffect effect, std::string attribute, std::string value) {
  Entry entry;
  entry.id = std::move(id);
  entry.effect = effect;
  entry.match.push_back({.attribute = std::move(attribute), .value = std::move(value)});
  return entry;
}

// Counts the calls that reach the store.
class CountingStore final : public store::Store {
 public:
  store::Completion Submit(store::StoreCall& call) override {
    ++calls;
    return model_.Submit(call);
  }
  void SubmitBatch(std::span<store::StoreCall* const> all) override {
    for (store::StoreCall* call : all) Submit(*call);
  }
  int calls = 0;

 private:
  store::testing::ModelStore model_;
};

class LiveEntriesTest : public ::testing::Test {
 protected:
  void Load(std::string_view yaml) {
    const LoadReport report = LoadRules(rules_, "rules.yaml", yaml, kEntryStart);
    ASSERT_EQ(report.outcome, LoadOutcome::kActivated) << ::testing::PrintToString(report.errors);
  }
  void Put(Entry entry) {
    table_.Put(std::move(entry));
    Publish();
  }
  void Publish() {
    entries_.Load("", "", kEntryStart,
                  [&]() -> LiveCandidate<match::EntrySet> { return {.value = table_.Snapshot()}; });
  }

  const CheckRequest& Ask(const std::vector<Attribute>& attributes, WallTime now = kEntryStart,
                          Operation operation = Operation::kCheck) {
    check_.Clear();
    check_.operation = operation;
    for (const Attribute& one : attributes) check_.Add(one.name, one.value);
    limiter_.Decide(check_, now);
    return check_;
  }
  const CheckRequest& Throttle(std::string_view key, std::int64_t burst = 2) {
    check_.Clear();
    check_.AddLimit({.scope = ":throttle", .tag = key},
                    *Limit::TokenBucket({.capacity = burst, .refill = Rate::PerHour(1)}), 1);
    check_.SetCallerKey();
    limiter_.Decide(check_, kEntryStart);
    return check_;
  }
  int Admitted(const std::vector<Attribute>& attributes) {
    int admitted = 0;
    while (admitted < 100 && Ask(attributes).allowed) ++admitted;
    return admitted;
  }

  CountingStore store_;
  Live<match::RuleSet> rules_;
  LiveReader<match::RuleSet> reader_{rules_};
  match::EntryTable table_;
  Live<match::EntrySet> entries_;
  LiveReader<match::EntrySet> entry_reader_{entries_};
  Settings settings_;
  EntryCounters counters_;
  Limiter limiter_ = [this] {
    Limiter limiter(store_, nullptr, reader_, settings_);
    limiter.Consult(entry_reader_, counters_);
    return limiter;
  }();
  CheckRequest check_;
};

constexpr std::string_view kRules = R"(
deny: [denied]
allow: [friend]
rules:
  - { id: one, per: api_key, algorithm: fixed_window, limit: 5/h }
  - { id: two, match: { endpoint: "/two" }, per: api_key, algorithm: fixed_window,
      limits: { a: 3/h, b: 4/d } }
)";

TEST_F(LiveEntriesTest, ABlockedCallerCostsTheStoreNothing) {
  Load(kRules);
  Entry block = EntryOf("b", EntryEffect::kBlock, "api_key", "k");
  block.expires_at = kEntryStart + seconds(90) + Micros(1);
  Put(block);
  const CheckRequest& check = Ask({{"api_key", "k"}});
  EXPECT_EQ(check.ruling, Ruling::kBlocked);
  EXPECT_FALSE(check.allowed);
  EXPECT_EQ(check.block_rest, Micros(seconds(90)) + Micros(1));
  ASSERT_NE(check.entry(), nullptr);
  EXPECT_EQ(check.entry()->entry.id, "b");
  EXPECT_EQ(Ask({{"api_key", "k"}}, kEntryStart, Operation::kPeek).ruling, Ruling::kBlocked);
  EXPECT_EQ(store_.calls, 0);
  EXPECT_EQ(counters_.hits[EntryEffect::kBlock].value(), 1U);
  EXPECT_EQ(table_.Find("b")->last_used.load(), 1'900'000'000);
  EXPECT_EQ(Ask({{"api_key", "other"}}).ruling, Ruling::kDecided);
}

TEST_F(LiveEntriesTest, ABlockEndsAtTheInstantOfItsExpiry) {
  Load(kRules);
  Entry block = EntryOf("b", EntryEffect::kBlock, "api_key", "k");
  block.expires_at = kEntryStart;
  Put(block);
  EXPECT_EQ(Ask({{"api_key", "k"}}, kEntryStart - Micros(1)).ruling, Ruling::kBlocked);
  EXPECT_EQ(Ask({{"api_key", "k"}}, kEntryStart).ruling, Ruling::kDecided);
}

Entry PenaltyOf(std::string id, std::string attribute, std::string value) {
  Entry entry = EntryOf(std::move(id), EntryEffect::kBlock, std::move(attribute), std::move(value));
  entry.status = 429;
  entry.expires_at = kEntryStart + seconds(90);
  entry.penalty.emplace();
  return entry;
}

TEST_F(LiveEntriesTest, APenaltyComesAfterWhatOperatorsSayAndBeforeLimits) {
  Load(kRules);
  Put(PenaltyOf("penalty:1", "api_key", "k"));
  EXPECT_EQ(Ask({{"api_key", "k"}}).ruling, Ruling::kBlocked);
  EXPECT_EQ(check_.block_rest, Micros(seconds(90)));
  EXPECT_EQ(store_.calls, 0);
  EXPECT_EQ(counters_.penalties[PenaltyMode::kEnforced].value(), 1U);
  EXPECT_EQ(counters_.hits[EntryEffect::kBlock].value(), 0U);
  Put(EntryOf("a", EntryEffect::kAllow, "tenant", "t"));
  EXPECT_EQ(Ask({{"api_key", "k"}, {"tenant", "t"}}).ruling, Ruling::kExempted);
  Put(PenaltyOf("penalty:2", "api_key", "friend"));
  EXPECT_EQ(Ask({{"api_key", "friend"}}).ruling, Ruling::kAllowListed);
  EXPECT_EQ(Throttle("k").ruling, Ruling::kDecided);
  settings_.enforcement = Enforcement::kShadow;
  EXPECT_TRUE(Ask({{"api_key", "k"}}).allowed);
  settings_.enforcement = Enforcement::kOff;
  EXPECT_TRUE(Ask({{"api_key", "k"}}).allowed);
}

TEST_F(LiveEntriesTest, APenaltyOfARuleIsForCallsThatMatchIt) {
  Load(kRules);
  Entry penalty = PenaltyOf("penalty:1", "api_key", "k");
  penalty.rule = "two";
  Put(penalty);
  EXPECT_EQ(Ask({{"api_key", "k"}}).ruling, Ruling::kDecided);
  EXPECT_EQ(Ask({{"api_key", "k"}, {"endpoint", "/two"}}).ruling, Ruling::kBlocked);
  Entry allow = EntryOf("a", EntryEffect::kAllow, "api_key", "k");
  allow.rule = "two";
  Put(allow);
  EXPECT_EQ(Ask({{"api_key", "k"}, {"endpoint", "/two"}}).ruling, Ruling::kDecided);
}

TEST_F(LiveEntriesTest, APenaltyInShadowIsCountedAndChangesNothing) {
  Load(kRules);
  Entry penalty = PenaltyOf("penalty:1", "api_key", "k");
  penalty.penalty->shadow = true;
  Put(penalty);
  EXPECT_TRUE(Ask({{"api_key", "k"}}).allowed);
  EXPECT_EQ(counters_.penalties[PenaltyMode::kShadow].value(), 1U);
  penalty.id = "penalty:2";
  penalty.effect = EntryEffect::kMultiply;
  penalty.factor = {.digits = 2, .scale = 1};
  Put(penalty);
  EXPECT_EQ(Ask({{"api_key", "k"}}).uses()[0].verdict.limit, 5);
  penalty.penalty->shadow = false;
  Put(penalty);
  EXPECT_EQ(Ask({{"api_key", "k"}}).uses()[0].verdict.limit, 1);
  Entry operators = EntryOf("m", EntryEffect::kMultiply, "api_key", "k");
  operators.factor = {.digits = 2, .scale = 0};
  Put(operators);
  EXPECT_EQ(Ask({{"api_key", "k"}}).uses()[0].verdict.limit, 10);
}

TEST_F(LiveEntriesTest, APenaltyOfAnAddressSparesKnownKeysThere) {
  Load("known_keys: [\"sk_*\"]\nrules:\n  - { id: one, limit: 5/h }\n");
  Entry penalty = PenaltyOf("penalty:1", "ip", "10.0.0.1");
  penalty.penalty->without_key = true;
  Put(penalty);
  EXPECT_EQ(Ask({{"ip", "10.0.0.1"}}).ruling, Ruling::kBlocked);
  EXPECT_EQ(Ask({{"ip", "10.0.0.1"}, {"api_key", "made-up"}}).ruling, Ruling::kBlocked);
  EXPECT_EQ(Ask({{"ip", "10.0.0.1"}, {"api_key", "sk_1"}}).ruling, Ruling::kDecided);
}

TEST_F(LiveEntriesTest, TheOrderIsDenyAndBlockThenAllowThenLimits) {
  Load(kRules);
  Put(EntryOf("a", EntryEffect::kAllow, "tenant", "t"));
  EXPECT_EQ(Ask({{"api_key", "k"}, {"tenant", "t"}}).ruling, Ruling::kExempted);
  EXPECT_EQ(Ask({{"api_key", "denied"}, {"tenant", "t"}}).ruling, Ruling::kDenyListed);
  EXPECT_EQ(store_.calls, 0);
  Put(EntryOf("b", EntryEffect::kBlock, "api_key", "friend"));
  EXPECT_EQ(Ask({{"api_key", "friend"}}).ruling, Ruling::kBlocked);
  Put(EntryOf("c", EntryEffect::kBlock, "api_key", "k"));
  EXPECT_EQ(Ask({{"api_key", "k"}, {"tenant", "t"}}).ruling, Ruling::kBlocked);
}

TEST_F(LiveEntriesTest, BlocksCountWhileLimitsAreNotEnforced) {
  Load(kRules);
  Put(EntryOf("b", EntryEffect::kBlock, "api_key", "k"));
  Put(EntryOf("c", EntryEffect::kBlock, "key", "k"));
  for (const Enforcement enforcement : {Enforcement::kShadow, Enforcement::kOff}) {
    settings_.enforcement = enforcement;
    EXPECT_EQ(Ask({{"api_key", "k"}}).ruling, Ruling::kBlocked);
    EXPECT_EQ(Throttle("k").ruling, Ruling::kBlocked);
    EXPECT_TRUE(Throttle("other").allowed);
  }
}

TEST_F(LiveEntriesTest, BlocksAndExemptionsNeedNoRules) {
  Put(EntryOf("b", EntryEffect::kBlock, "api_key", "k"));
  Put(EntryOf("a", EntryEffect::kAllow, "api_key", "friend"));
  EXPECT_EQ(Ask({{"api_key", "k"}}).ruling, Ruling::kBlocked);
  EXPECT_EQ(Ask({{"api_key", "friend"}}).ruling, Ruling::kExempted);
  EXPECT_EQ(Ask({{"api_key", "other"}}).ruling, Ruling::kNoRule);
}

TEST_F(LiveEntriesTest, AnUnlimitedCallerIsCountedButNeverDenied) {
  Load(kRules);
  Entry entry = EntryOf("u", EntryEffect::kUnlimited, "api_key", "k");
  entry.expires_at = kEntryStart + seconds(1);
  Put(entry);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(Ask({{"api_key", "k"}}).allowed);
  EXPECT_EQ(store_.calls, 20);
  // What was counted stays.
  EXPECT_FALSE(Ask({{"api_key", "k"}}, kEntryStart + seconds(1)).allowed);
}

TEST_F(LiveEntriesTest, NumbersChangeAndKeysKeepWhatTheyHaveLeft) {
  Load(kRules);
  EXPECT_EQ(Admitted({{"api_key", "k"}}), 5);
  Entry twice = EntryOf("m", EntryEffect::kMultiply, "api_key", "k");
  twice.factor = {.digits = 2, .scale = 0};
  Put(twice);
  EXPECT_EQ(Admitted({{"api_key", "k"}}), 5);
  EXPECT_EQ(check_.uses()[0].verdict.limit, 10);
  table_.Remove("m");
  Publish();
  EXPECT_FALSE(Ask({{"api_key", "k"}}).allowed);
  Entry limit = EntryOf("l", EntryEffect::kLimit, "api_key", "k");
  limit.limit = 11;
  Put(limit);
  EXPECT_EQ(Admitted({{"api_key", "k"}}), 1);
  EXPECT_EQ(Admitted({{"api_key", "other"}}), 5);
}

TEST_F(LiveEntriesTest, ALimitWithoutANameIsForRulesWithOneLimit) {
  Load(kRules);
  Entry limit = EntryOf("l", EntryEffect::kLimit, "api_key", "k");
  limit.limit = 2;
  Put(limit);
  EXPECT_EQ(Admitted({{"api_key", "k"}}), 2);
  const CheckRequest& check = Ask({{"api_key", "k"}, {"endpoint", "/two"}});
  ASSERT_EQ(check.uses().size(), 3U);
  EXPECT_EQ(check.uses()[0].verdict.limit, 2);
  EXPECT_EQ(check.uses()[1].verdict.limit, 3);
  EXPECT_EQ(check.uses()[2].verdict.limit, 4);
  Entry named = EntryOf("n", EntryEffect::kLimit, "api_key", "k");
  named.rule = "two";
  named.limit_name = "b";
  named.limit = 9;
  Put(named);
  EXPECT_EQ(Ask({{"api_key", "k"}, {"endpoint", "/two"}}).uses()[2].verdict.limit, 9);
}

TEST_F(LiveEntriesTest, AnEntryOfOneRuleLeavesTheOthersAlone) {
  Load(kRules);
  Entry block = EntryOf("b", EntryEffect::kBlock, "api_key", "k");
  block.rule = "two";
  Put(block);
  EXPECT_TRUE(Ask({{"api_key", "k"}, {"endpoint", "/one"}}).allowed);
  EXPECT_EQ(Ask({{"api_key", "k"}, {"endpoint", "/two"}}).ruling, Ruling::kBlocked);
  Entry allow = EntryOf("a", EntryEffect::kAllow, "api_key", "free");
  allow.rule = "one";
  Put(allow);
  EXPECT_EQ(Ask({{"api_key", "free"}}).ruling, Ruling::kExempted);
  EXPECT_EQ(Ask({{"api_key", "free"}, {"endpoint", "/two"}}).uses().size(), 2U);
  EXPECT_EQ(Admitted({{"api_key", "free"}, {"endpoint", "/two"}}), 2);
}

TEST_F(LiveEntriesTest, TheMoreSpecificEntryDecides) {
  Load(kRules);
  Entry network = EntryOf("n", EntryEffect::kUnlimited, "ip", "10.0.0.0/8");
  network.match[0].kind = rules::PatternKind::kCidr;
  network.created = kEntryStart + hours(1);
  Put(network);
  Entry key = EntryOf("k", EntryEffect::kLimit, "api_key", "k");
  key.limit = 1;
  Put(key);
  EXPECT_EQ(Admitted({{"api_key", "k"}, {"ip", "10.1.1.1"}}), 1);
  EXPECT_EQ(Admitted({{"api_key", "other"}, {"ip", "10.1.1.1"}}), 100);
  Entry both = EntryOf("both", EntryEffect::kLimit, "api_key", "k");
  both.match.push_back(network.match[0]);
  both.limit = 3;
  Put(both);
  EXPECT_EQ(Admitted({{"api_key", "k"}, {"ip", "10.1.1.1"}}), 2);
}

TEST_F(LiveEntriesTest, LimitsInRequestsKnowTheirKey) {
  Entry twice = EntryOf("m", EntryEffect::kMultiply, "key", "k");
  twice.factor = {.digits = 15, .scale = 1};
  Put(twice);
  int admitted = 0;
  while (Throttle("k").allowed) ++admitted;
  EXPECT_EQ(admitted, 3);
  Put(EntryOf("m", EntryEffect::kAllow, "key", "k"));
  EXPECT_EQ(Throttle("k").ruling, Ruling::kExempted);
  Put(EntryOf("m", EntryEffect::kBlock, "key", "k"));
  EXPECT_EQ(Throttle("k").ruling, Ruling::kBlocked);
  Entry other = EntryOf("m", EntryEffect::kBlock, "key", "k");
  other.rule = "one";
  Put(other);
  EXPECT_EQ(Throttle("k").ruling, Ruling::kDecided);
}

TEST_F(LiveEntriesTest, AnExemptedDescriptorNeitherDeniesNorTakes) {
  Put(EntryOf("a", EntryEffect::kAllow, "key", "free"));
  const Limit limit = *Limit::FixedWindow({.limit = 2, .window = hours(1)});
  for (int i = 0; i < 3; ++i) {
    check_.Clear();
    for (const std::string_view key : {"free", "k"}) {
      check_.AddLimit({.scope = ":descriptor", .tag = key}, limit, 1);
      check_.SetCallerKey();
    }
    limiter_.Decide(check_, kEntryStart);
    EXPECT_EQ(check_.allowed, i < 2);
    ASSERT_EQ(check_.uses().size(), 2U);
    EXPECT_EQ(check_.uses()[0].verdict.remaining, 2);
  }
}

// Decides calls one entry after the other, in the plainest way: numbers of one rule of five calls
// an hour per API key, and nothing else.
struct PlainModel {
  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::int64_t>> used;

  std::int64_t& UsedBy(const std::string& key) {
    for (auto& [name, count] : used) {
      if (name == key) return count;
    }
    return used.emplace_back(key, 0).second;
  }

  Ruling Decide(const std::vector<Attribute>& call, WallTime now, bool& allowed) {
    const auto found = match::testing::PlainFind(entries, call, now);
    for (const Entry* const entry : found) {
      if (entry->effect != EntryEffect::kBlock) continue;
      allowed = false;
      return Ruling::kBlocked;
    }
    for (const Entry* const entry : found) {
      if (entry->effect != EntryEffect::kAllow) continue;
      allowed = true;
      return Ruling::kExempted;
    }
    std::string key;
    for (const Attribute& one : call) {
      if (one.name == "api_key") {
        key = one.value;
        break;
      }
    }
    allowed = true;
    if (key.empty()) return Ruling::kNoRule;
    std::int64_t& count = UsedBy(key);
    if (found.empty()) {
      allowed = count < 5;
      count += allowed ? 1 : 0;
      return Ruling::kDecided;
    }
    const Entry& entry = *found.front();
    const std::int64_t limit = entry.effect == EntryEffect::kLimit ? entry.limit
                               : entry.effect == EntryEffect::kMultiply
                                   ? std::max<std::int64_t>(1, 5 * entry.factor.digits / 10)
                                   : 5;
    const bool fits = count < limit;
    count += fits ? 1 : 0;
    allowed = fits || entry.effect == EntryEffect::kUnlimited;
    return Ruling::kDecided;
  }
};

TEST_F(LiveEntriesTest, DecidesAsAPlainModelDoes) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  match::testing::RandomEntries random(seed);
  Load("rules: [{ id: one, per: api_key, algorithm: fixed_window, limit: 5/h }]");
  PlainModel model;
  int rulings[4] = {};
  for (int i = 0; i < 4000; ++i) {
    if (i % 40 == 0) {
      // Other callers' entries come and go; so few that many calls match none.
      for (const Entry& old : model.entries) table_.Remove(old.id);
      model.entries.clear();
      for (std::size_t j = random.Below(8); j > 0; --j) {
        Entry entry = random.One();
        entry.period = Micros{0};
        model.entries.push_back(entry);
        table_.Put(entry);
      }
      Publish();
    }
    const auto values = random.Call();
    std::vector<Attribute> call;
    for (const auto& [name, value] : values) call.push_back({name, value});
    const WallTime now = random.Time();
    bool allowed = false;
    const Ruling ruling = model.Decide(call, now, allowed);
    const CheckRequest& check = Ask(call, now);
    ASSERT_EQ(check.ruling, ruling) << "call " << i;
    ASSERT_EQ(check.allowed, allowed) << "call " << i;
    ++rulings[ruling == Ruling::kBlocked ? 0 : ruling == Ruling::kExempted ? 1 : allowed ? 2 : 3];
  }
  for (const int count : rulings) EXPECT_GT(count, 0);
}

}  // namespace
}  // namespace sluice::limiter
