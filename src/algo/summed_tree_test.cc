#include "algo/summed_tree.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "algo/testing/choices.h"

namespace sluice::algo {
namespace {

using testing::RandomChoices;
using testing::TestSeeds;

struct Entry {
  EntryKey place;
  std::int64_t cost;

  [[nodiscard]] EntryKey key() const { return place; }
};

/// The same, slowly and obviously.
struct Model {
  std::map<EntryKey, std::int64_t> costs;

  [[nodiscard]] std::int64_t Total() const {
    std::int64_t sum = 0;
    for (const auto& [key, cost] : costs) sum += cost;
    return sum;
  }
};

void ExpectSame(const SummedTree<Entry>& tree, const Model& model, RandomChoices& choices) {
  ASSERT_EQ(tree.size(), model.costs.size());
  ASSERT_EQ(tree.total(), model.Total());
  ASSERT_EQ(tree.empty(), model.costs.empty());
  auto at = model.costs.begin();
  tree.ForEach([&](const Entry& entry) {
    ASSERT_EQ(entry.key(), at->first);
    ASSERT_EQ(entry.cost, at->second);
    ++at;
  });
  if (model.costs.empty()) return;
  ASSERT_EQ(tree.back().key(), model.costs.rbegin()->first);
  const EntryKey key{choices.Between(-2, 3000), choices.Below(3)};
  const auto found = model.costs.lower_bound(key);
  const Entry* const first = tree.FirstFrom(key);
  ASSERT_EQ(first == nullptr, found == model.costs.end());
  if (first != nullptr) {
    ASSERT_EQ(first->key(), found->first);
  }
  SummedTree<Entry>::Sums before;
  const std::int64_t wanted = choices.Between(1, model.Total() + 2);
  const EntryKey* reached = nullptr;
  std::int64_t sum = 0;
  for (const auto& [place, cost] : model.costs) {
    if (place.time < key.time) {
      before.cost += cost;
      ++before.count;
    }
    sum += cost;
    if (sum >= wanted && reached == nullptr) reached = &place;
  }
  ASSERT_EQ(tree.Before(key.time).cost, before.cost);
  ASSERT_EQ(tree.Before(key.time).count, before.count);
  const Entry* const reaches = tree.WhereCostReaches(wanted);
  ASSERT_EQ(reaches == nullptr, reached == nullptr);
  if (reaches != nullptr) {
    ASSERT_EQ(reaches->key(), *reached);
  }
}

TEST(SummedTree, AgreesWithAMapOnRandomOperations) {
  for (const std::uint64_t seed : TestSeeds(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomChoices choices(seed);
    SummedTree<Entry> tree;
    Model model;
    const std::uint64_t erases_one_in = choices.Below(4) + 2;
    const bool in_order = choices.OneIn(2);
    std::int64_t time = 0;
    for (int step = 0; step < 4000; ++step) {
      const EntryKey key{in_order ? time++ : choices.Between(0, 3000), choices.Below(3)};
      const EntryKey other{choices.Between(0, 3000), choices.Below(3)};
      const auto found = model.costs.lower_bound(other);
      if (found != model.costs.end() && choices.OneIn(erases_one_in)) {
        tree.Erase(found->first);
        model.costs.erase(found);
      } else if (found != model.costs.end() && choices.OneIn(4)) {
        found->second = choices.Between(1, 9);
        tree.SetCost(found->first, found->second);
      } else if (choices.OneIn(300)) {
        const std::int64_t until = choices.Between(0, 3000);
        const std::size_t most = choices.Below(300);
        tree.EraseBefore(until, most);
        for (std::size_t i = 0; i < most && !model.costs.empty(); ++i) {
          if (model.costs.begin()->first.time >= until) break;
          model.costs.erase(model.costs.begin());
        }
      } else if (model.costs.emplace(key, 1 + step % 7).second) {
        tree.Insert({key, 1 + step % 7});
      }
      if (step % 20 == 0) ExpectSame(tree, model, choices);
      if (::testing::Test::HasFatalFailure()) return;
    }
    const SummedTree<Entry> copy = tree;
    while (!tree.empty()) tree.Erase(tree.back().key());
    EXPECT_EQ(tree.Bytes(), 0U);
    ExpectSame(copy, model, choices);
  }
}

TEST(SummedTree, ReportsItsHeapMemory) {
  SummedTree<Entry> tree;
  EXPECT_EQ(tree.Bytes(), 0U);
  constexpr std::int64_t kEntries = 100'000;
  for (std::int64_t i = 0; i < kEntries; ++i) tree.Insert({{i, 0}, 1});
  EXPECT_GE(tree.Bytes(), kEntries * sizeof(Entry));
  EXPECT_LE(tree.Bytes(), kEntries * sizeof(Entry) * 5 / 4);
  tree.EraseBefore(kEntries - 10, kEntries);
  EXPECT_LE(tree.Bytes(), 10'000U);
}

TEST(SummedTree, GrowsByAtMostTheReportedBytes) {
  RandomChoices choices(1);
  SummedTree<Entry> tree;
  for (int i = 0; i < 20'000; ++i) {
    const EntryKey key{choices.Between(0, 1'000'000), choices.Below(1'000'000)};
    if (tree.Find(key) != nullptr) continue;
    const std::size_t promised = tree.Bytes() + tree.BytesToGrow(1);
    tree.Reserve(1);
    ASSERT_EQ(tree.Bytes(), promised);
    tree.Insert({key, 1});
    ASSERT_EQ(tree.Bytes(), promised) << i;
  }
}

}  // namespace
}  // namespace sluice::algo
