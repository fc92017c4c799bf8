#include "match/entry_set.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "match/testing/random_entries.h"

namespace sluice::match {
namespace {

using rules::PatternKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::RandomEntries;

constexpr WallTime kNow{std::chrono::seconds(1'000'000)};

Entry Exact(std::string id, std::string attribute, std::string value) {
  Entry entry;
  entry.id = std::move(id);
  entry.match = {{.attribute = std::move(attribute), .value = std::move(value)}};
  return entry;
}

Entry Of(std::string id, PatternKind kind, std::string attribute, std::string value) {
  Entry entry = Exact(std::move(id), std::move(attribute), std::move(value));
  entry.match[0].kind = kind;
  return entry;
}

std::vector<std::string> Ids(const EntryMatches& matches) {
  std::vector<std::string> ids;
  for (const LiveEntry* const live : matches.found()) ids.push_back(live->entry.id);
  return ids;
}

std::vector<std::string> Find(EntryTable& table, const std::vector<Attribute>& call,
                              WallTime now = kNow) {
  EntryMatches matches;
  table.Snapshot()->Find(call, now, matches);
  return Ids(matches);
}

TEST(EntrySet, FindsWhatASlowModelFinds) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomEntries random(seed);
  EntryMatches matches;
  for (int round = 0; round < 60; ++round) {
    EntryTable table;
    std::vector<Entry> entries;
    // So many that a base is made, and that it is followed by changes.
    const std::size_t steps = 1 + random.Below(round % 10 == 0 ? 1500 : 60);
    for (std::size_t i = 0; i < steps; ++i) {
      if (!entries.empty() && random.OneIn(4)) {
        const std::size_t at = random.Below(entries.size());
        if (random.OneIn(2)) {
          table.Remove(entries[at].id);
          entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at));
        } else {
          Entry other = random.One();
          other.id = entries[at].id;
          entries[at] = other;
          table.Put(other);
        }
      } else {
        entries.push_back(random.One());
        table.Put(entries.back());
      }
      if (random.OneIn(20)) (void)table.Snapshot();
    }
    const auto set = table.Snapshot();
    EXPECT_EQ(set->size(), entries.size());
    for (int i = 0; i < 60; ++i) {
      const auto call = random.Call();
      std::vector<Attribute> attributes;
      for (const auto& [name, value] : call) attributes.push_back({name, value});
      const WallTime now = random.Time();
      std::vector<std::string> expected;
      for (const Entry* const entry : testing::PlainFind(entries, attributes, now)) {
        expected.push_back(entry->id);
      }
      set->Find(attributes, now, matches);
      ASSERT_EQ(Ids(matches), expected);
    }
  }
}

TEST(EntrySet, OrdersByConditionsThenKindThenAge) {
  EntryTable table;
  Entry two = Exact("two", "api_key", "k");
  two.match.push_back({.attribute = "ip", .kind = PatternKind::kCidr, .value = "10.0.0.0/8"});
  table.Put(two);
  table.Put(Of("glob", PatternKind::kGlob, "api_key", "*"));
  table.Put(Of("cidr", PatternKind::kCidr, "ip", "10.0.0.0/8"));
  Entry old = Exact("old", "api_key", "k");
  old.created = kNow;
  table.Put(old);
  Entry newer = Exact("newer", "api_key", "k");
  newer.created = kNow + std::chrono::seconds(1);
  table.Put(newer);
  Entry all;
  all.id = "all";
  table.Put(all);
  EXPECT_THAT(Find(table, {{"api_key", "k"}, {"ip", "10.1.2.3"}}),
              ElementsAre("two", "newer", "old", "cidr", "glob", "all"));
  EXPECT_THAT(Find(table, {{"api_key", "other"}}), ElementsAre("glob", "all"));
  EXPECT_THAT(Find(table, {}), ElementsAre("all"));
}

TEST(EntrySet, HasNoEffectFromTheInstantOfExpiry) {
  EntryTable table;
  Entry entry = Exact("a", "api_key", "k");
  entry.expires_at = kNow;
  table.Put(entry);
  EXPECT_THAT(Find(table, {{"api_key", "k"}}, kNow - Micros{1}), ElementsAre("a"));
  EXPECT_THAT(Find(table, {{"api_key", "k"}}, kNow), IsEmpty());
}

TEST(EntrySet, KeysOfAnyBytesMatchThemselvesOnly) {
  EntryTable table;
  const std::string longest(256, 'k');
  const std::string markup = "<script>alert('x')</script>\"&\xC3\xA4\xF0\x9F\x98\x80";
  table.Put(Exact("long", "api_key", longest));
  table.Put(Exact("markup", "api_key", markup));
  table.Put(Exact("star", "api_key", "*"));
  EXPECT_THAT(Find(table, {{"api_key", longest}}), ElementsAre("long"));
  EXPECT_THAT(Find(table, {{"api_key", markup}}), ElementsAre("markup"));
  EXPECT_THAT(Find(table, {{"api_key", "*"}}), ElementsAre("star"));
  EXPECT_THAT(Find(table, {{"api_key", longest.substr(1)}}), IsEmpty());
}

TEST(EntryTable, KeepsTheLastUseOfAnEntryThatIsReplaced) {
  EntryTable table;
  table.Put(Exact("a", "api_key", "k"));
  EntryMatches matches;
  table.Snapshot()->Find(std::vector<Attribute>{{"api_key", "k"}}, kNow, matches);
  ASSERT_EQ(matches.found().size(), 1U);
  matches.found()[0]->NoteUse(kNow);
  table.Put(Exact("a", "api_key", "k2"));
  EXPECT_EQ(table.Find("a")->last_used.load(), 1'000'000);
  EXPECT_EQ(table.Find("b"), nullptr);
}

TEST(EntryTable, ASnapshotStaysAsItIsWhileTheTableChanges) {
  EntryTable table;
  for (int i = 0; i < 2000; ++i) {
    table.Put(Exact("e" + std::to_string(i), "api_key", "k" + std::to_string(i)));
  }
  const auto before = table.Snapshot();
  for (int i = 0; i < 2000; ++i) table.Remove("e" + std::to_string(i));
  const auto after = table.Snapshot();
  EntryMatches matches;
  before->Find(std::vector<Attribute>{{"api_key", "k7"}}, kNow, matches);
  EXPECT_THAT(Ids(matches), ElementsAre("e7"));
  after->Find(std::vector<Attribute>{{"api_key", "k7"}}, kNow, matches);
  EXPECT_THAT(Ids(matches), IsEmpty());
  EXPECT_TRUE(after->empty());
}

TEST(EntryTable, RefusesWhatWouldCostEveryCall) {
  EntryTable table;
  const EntryBounds bounds{
      .entries = 8, .attribute_sets = 2, .networks = 2, .globs = 1, .equal_matchers = 2};
  const auto refusal = [&](const std::vector<Entry>& added) {
    return table.RefusalOf(added, {}, bounds);
  };
  table.Put(Of("glob", PatternKind::kGlob, "api_key", "a*"));
  EXPECT_EQ(refusal({Of("g2", PatternKind::kGlob, "api_key", "b*")}),
            "at most 1 entries with globs");
  EXPECT_EQ(refusal({Of("glob", PatternKind::kGlob, "api_key", "b*")}), "");  // Replaces it.
  table.Put(Exact("a", "a", "1"));
  table.Put(Exact("b", "b", "1"));
  EXPECT_EQ(refusal({Exact("c", "c", "1")}), "at most 2 different sets of attributes in matchers");
  EXPECT_EQ(refusal({Exact("c", "a", "1")}), "");
  EXPECT_EQ(refusal({Exact("c", "a", "1"), Exact("d", "a", "1")}),
            "at most 2 entries with the same matcher");
  std::vector<Entry> many;
  for (int i = 0; i < 6; ++i)
    many.push_back(Exact("m" + std::to_string(i), "a", std::to_string(i)));
  EXPECT_EQ(refusal(many), "at most 8 entries");
  EXPECT_EQ(refusal({Of("n1", PatternKind::kCidr, "ip", "10.0.0.0/8"),
                     Of("n2", PatternKind::kCidr, "ip", "10.0.0.0/9"),
                     Of("n3", PatternKind::kCidr, "ip", "10.0.0.0/10")}),
            "at most 2 entries with networks");
}

// Counts all entries that there would be, one after the other.
std::string PlainRefusal(const std::map<std::string, Entry>& before,
                         const std::vector<Entry>& added, const std::vector<std::string>& removed,
                         const EntryBounds& bounds) {
  std::map<std::string, Entry> entries = before;
  for (const std::string& id : removed) entries.erase(id);
  for (const Entry& entry : added) entries[entry.id] = entry;
  std::map<EntryKind, std::size_t> kinds;
  std::set<std::vector<std::string>> sets;
  for (const auto& [id, entry] : entries) {
    ++kinds[KindOf(entry)];
    std::vector<std::string> exact;
    for (const EntryCondition& condition : entry.match) {
      if (condition.kind == PatternKind::kExact) exact.push_back(condition.attribute);
    }
    if (!exact.empty()) sets.insert(exact);
  }
  // Of the matchers that the change gives to more entries than before.
  bool too_many_equal = false;
  for (const Entry& entry : added) {
    const auto equal = [&](const auto& other) { return other.second.match == entry.match; };
    const auto count = std::count_if(entries.begin(), entries.end(), equal);
    too_many_equal |= std::cmp_greater(count, bounds.equal_matchers) &&
                      count > std::count_if(before.begin(), before.end(), equal);
  }
  if (entries.size() > bounds.entries) return "entries";
  if (kinds[EntryKind::kCidr] > bounds.networks) return "entries with networks";
  if (kinds[EntryKind::kGlob] > bounds.globs) return "entries with globs";
  if (sets.size() > bounds.attribute_sets) return "different sets of attributes in matchers";
  return too_many_equal ? "entries with the same matcher" : "";
}

TEST(EntryTable, RefusesWhatASlowModelRefuses) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomEntries random(seed);
  std::map<std::string, int> refusals;
  for (int round = 0; round < 60; ++round) {
    EntryTable table;
    std::map<std::string, Entry> entries;
    // Each round one bound is close.
    constexpr std::size_t kFar = 1000;
    const auto bound = [&](int which) { return round % 5 == which ? 1 + random.Below(8) : kFar; };
    const EntryBounds bounds{.entries = bound(0),
                             .attribute_sets = bound(1),
                             .networks = bound(2),
                             .globs = bound(3),
                             .equal_matchers = bound(4)};
    for (int step = 0; step < 100; ++step) {
      std::vector<std::string> known;
      for (const auto& [id, entry] : entries) known.push_back(id);
      std::set<std::string> used;
      std::vector<Entry> added;
      for (std::size_t i = random.Below(5); i > 0; --i) {
        Entry entry = random.One();
        if (!known.empty() && random.OneIn(3)) entry.id = known[random.Below(known.size())];
        if (!known.empty() && random.OneIn(2)) {
          entry.match = entries[known[random.Below(known.size())]].match;
        }
        if (used.insert(entry.id).second) added.push_back(entry);
      }
      std::vector<std::string> removed;
      for (std::size_t i = random.Below(3); i > 0 && !known.empty(); --i) {
        const std::string& id = known[random.Below(known.size())];
        if (used.insert(id).second) removed.push_back(id);
      }
      const std::string expected = PlainRefusal(entries, added, removed, bounds);
      const std::string found = table.RefusalOf(added, removed, bounds);
      ASSERT_EQ(found.empty(), expected.empty()) << found << expected;
      ASSERT_THAT(found, ::testing::EndsWith(expected));
      ++refusals[expected];
      if (!expected.empty() && !random.OneIn(10)) continue;
      for (const Entry& entry : added) {
        table.Put(entry);
        entries[entry.id] = entry;
      }
      for (const std::string& id : removed) {
        table.Remove(id);
        entries.erase(id);
      }
    }
  }
  EXPECT_EQ(refusals.size(), 6U) << "some bound was never met";
}

}  // namespace
}  // namespace sluice::match
