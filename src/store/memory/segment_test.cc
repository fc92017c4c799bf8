#include "store/memory/segment.h"

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/testing/seed.h"

namespace sluice::store {
namespace {

constexpr std::uint64_t kHashes = std::uint64_t{1} << 61;

Limit AnyLimit() {
  return *Limit::FixedWindow({.limit = kMaxAmount, .window = std::chrono::seconds(1)});
}

// A segment in address space of its own, and beside it what must be in it.
class Segments {
 public:
  explicit Segments(std::uint32_t max_cells, int skip_bits = 0)
      : bytes_(max_cells * sizeof(Cell) + Segment::kPageBytes), limit_(AnyLimit()) {
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* const cells = static_cast<Cell*>(memory_);
    // The page behind is protected: an access past the end crashes.
    mprotect(cells + max_cells, Segment::kPageBytes, PROT_NONE);
    pushed_.resize(std::size_t{max_cells} << skip_bits);
    segment.Init(cells, pushed_.data(), max_cells, skip_bits);
  }
  ~Segments() { munmap(memory_, bytes_); }
  Segments(const Segments&) = delete;
  Segments& operator=(const Segments&) = delete;

  // False if there is no room.
  bool Add(const KeyHash& hash) {
    if (segment.PagesNeededFor(1) == Segment::kNoRoom) return false;
    segment.Reserve(1);
    InsertReserved(hash);
    return true;
  }

  void InsertReserved(const KeyHash& hash) {
    Cell cell;
    const std::int64_t value = ++last_value_;
    EXPECT_TRUE(cell.TryPack(hash, limit_, {.value = value}));
    segment.Insert(cell);
    expected_[{hash.high, hash.low}] = value;
  }

  void Remove(const KeyHash& hash) {
    Cell* const cell = segment.Find(hash);
    ASSERT_NE(cell, nullptr);
    segment.Remove(cell);
    expected_.erase({hash.high, hash.low});
  }

  [[nodiscard]] std::vector<KeyHash> Hashes() const {
    std::vector<KeyHash> hashes;
    for (const auto& [hash, value] : expected_) hashes.push_back({hash.first, hash.second});
    return hashes;
  }

  // Every cell is found with what was written into it, and nothing else is there, in order.
  void Verify() const {
    ASSERT_EQ(segment.count(), expected_.size());
    for (const auto& [hash, value] : expected_) {
      const Cell* const cell = segment.Find({hash.first, hash.second});
      ASSERT_NE(cell, nullptr) << hash.first << " of " << segment.count();
      ASSERT_EQ(cell->State().value, value);
    }
    std::uint32_t seen = 0;
    std::uint64_t last_order = 0;
    for (std::uint32_t i = 0; i < segment.extent(); ++i) {
      if (segment.at(i)->empty()) continue;
      ++seen;
      ASSERT_GE(segment.at(i)->order(), last_order) << "at " << i;
      last_order = segment.at(i)->order();
    }
    ASSERT_EQ(seen, segment.count());
  }

  Segment segment;

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
  std::vector<std::uint8_t> pushed_;
  Limit limit_;
  std::int64_t last_value_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> expected_;
};

class SegmentTest : public ::testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", std::to_string(seed_)); }
  void TearDown() override {
    if (HasFailure()) ADD_FAILURE() << "seed " << seed_;
  }

  KeyHash RandomHash() { return {random_() % (kHashes - 1), random_() % (kHashes - 1)}; }
  std::uint64_t Below(std::uint64_t bound) { return random_() % bound; }

  const unsigned seed_ = TestSeed();
  std::mt19937_64 random_{seed_};
};

TEST_F(SegmentTest, AnEmptySegmentHoldsNothingAndNoMemory) {
  const Segments s(1024);
  EXPECT_EQ(s.segment.Find({1, 1}), nullptr);
  EXPECT_EQ(s.segment.pages(), 0U);
}

TEST_F(SegmentTest, InsertedCellsAreFoundWhileTheSegmentGrows) {
  Segments s(64 * Segment::kPageCells);
  std::uint32_t extents = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::uint32_t before = s.segment.extent();
    ASSERT_TRUE(s.Add(RandomHash())) << i;
    extents += s.segment.extent() != before ? 1 : 0;
    if (i % 97 == 0) {
      ASSERT_NO_FATAL_FAILURE(s.Verify());
    }
  }
  ASSERT_NO_FATAL_FAILURE(s.Verify());
  EXPECT_GT(extents, 15U);
}

TEST_F(SegmentTest, OnTheAverageSegmentsAreMoreThanFourFifthsFull) {
  std::uint32_t used = 0;
  std::uint32_t resident = 0;
  for (int i = 0; i < 20; ++i) {
    Segments s(64 * Segment::kPageCells);
    const std::uint64_t cells = 3000 + Below(2000);
    while (s.segment.count() < cells) ASSERT_TRUE(s.Add(RandomHash()));
    used += s.segment.count();
    resident += s.segment.extent();
  }
  EXPECT_GT(used * 10, resident * 8);
}

TEST_F(SegmentTest, AgreesWithASetOnRandomInsertsAndRemoves) {
  Segments s(32 * Segment::kPageCells);
  std::vector<KeyHash> present;
  for (int i = 0; i < 30'000; ++i) {
    // Rises and falls, so that growth meets removals.
    const bool rising = i / 3000 % 2 == 0;
    if (present.empty() || Below(100) < (rising ? 80U : 35U)) {
      const KeyHash hash = RandomHash();
      if (s.Add(hash)) present.push_back(hash);
    } else {
      const std::size_t victim = Below(present.size());
      ASSERT_NO_FATAL_FAILURE(s.Remove(present[victim]));
      present[victim] = present.back();
      present.pop_back();
    }
    if (i % 499 == 0) {
      ASSERT_NO_FATAL_FAILURE(s.Verify());
    }
    if (i % 1000 == 999) s.segment.Shrink();
  }
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, ARemovedCellIsNoLongerFound) {
  Segments s(1024);
  ASSERT_TRUE(s.Add({5, 6}));
  s.Remove({5, 6});
  EXPECT_EQ(s.segment.Find({5, 6}), nullptr);
}

TEST_F(SegmentTest, CellsOfEqualOrderAreDistinguishedByTheOtherHalf) {
  Segments s(16 * Segment::kPageCells);
  for (std::uint64_t low = 0; low < 4; ++low) ASSERT_TRUE(s.Add({kHashes / 2, low}));
  EXPECT_EQ(s.segment.Find({kHashes / 2, 4}), nullptr);
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, CellsOfEqualOrderStayTogetherWhileTheSegmentGrows) {
  Segments s(32 * Segment::kPageCells);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t high = RandomHash().high;
    for (std::uint64_t low = 0; low < 3; ++low) ASSERT_TRUE(s.Add({high, low}));
    if (i % 37 == 0) {
      ASSERT_NO_FATAL_FAILURE(s.Verify());
    }
  }
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, TheLowestAndTheHighestHashHaveAPlace) {
  Segments s(16 * Segment::kPageCells);
  ASSERT_TRUE(s.Add({0, 0}));
  ASSERT_TRUE(s.Add({kHashes - 2, kHashes - 2}));
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(s.Add(RandomHash()));
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, HashesThatShareTheirFirstBitsSpreadOverTheWholeSegment) {
  constexpr int kSkipped = 11;
  Segments s(16 * Segment::kPageCells, kSkipped);
  constexpr std::uint64_t kShared = std::uint64_t{1234} << (61 - kSkipped);
  for (int i = 0; i < 1200; ++i) {
    ASSERT_TRUE(s.Add({kShared | Below(kHashes >> kSkipped), Below(kHashes)}));
  }
  ASSERT_NO_FATAL_FAILURE(s.Verify());
  std::uint32_t in_lower_half = 0;
  for (std::uint32_t i = 0; i < s.segment.extent() / 2; ++i) {
    in_lower_half += s.segment.at(i)->empty() ? 0 : 1;
  }
  EXPECT_NEAR(in_lower_half, 600, 150);
}

// Much more crowded than hashes under a secret ever are.
TEST_F(SegmentTest, CellsThatAllWantTheLastPlaceStayInsideTheSegment) {
  Segments s(16 * Segment::kPageCells);
  for (std::uint64_t i = 0; i < 150; ++i) {
    if (!s.Add({kHashes - 1000 + i, i})) break;
    ASSERT_NO_FATAL_FAILURE(s.Verify()) << "after " << i + 1;
  }
}

TEST_F(SegmentTest, CellsThatAllWantTheFirstPlaceAreFound) {
  Segments s(16 * Segment::kPageCells);
  for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(s.Add({i, i}));
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, TheSmallestSegmentReportsThatItIsFull) {
  Segments s(2 * Segment::kPageCells);
  int held = 0;
  while (held < 1000 && s.Add(RandomHash())) ++held;
  EXPECT_GE(held, static_cast<int>(Segment::kPageCells) / 2);
  EXPECT_LE(held, 2 * static_cast<int>(Segment::kPageCells));
  EXPECT_EQ(s.segment.PagesNeededFor(1), Segment::kNoRoom);
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, AFullSegmentHasRoomAgainAfterRemovals) {
  Segments s(2 * Segment::kPageCells);
  while (s.Add(RandomHash())) {
  }
  const std::vector<KeyHash> hashes = s.Hashes();
  for (std::size_t i = 0; i < hashes.size(); i += 2) s.Remove(hashes[i]);
  EXPECT_TRUE(s.Add(RandomHash()));
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, ReserveMakesResidentAsManyPagesAsWereNeeded) {
  Segments s(64 * Segment::kPageCells);
  for (int i = 0; i < 300; ++i) {
    const auto more = static_cast<std::uint32_t>(1 + Below(40));
    const std::uint32_t before = s.segment.pages();
    const std::uint32_t needed = s.segment.PagesNeededFor(more);
    if (needed == Segment::kNoRoom) break;
    s.segment.Reserve(more);
    ASSERT_EQ(s.segment.pages(), before + needed);
    for (std::uint32_t j = 0; j < more / 2; ++j) s.InsertReserved(RandomHash());
  }
}

TEST_F(SegmentTest, ReservedPagesAreNotNeededAgain) {
  Segments s(64 * Segment::kPageCells);
  for (int i = 0; i < 100; ++i) {
    s.segment.Reserve(20);
    ASSERT_EQ(s.segment.PagesNeededFor(20), 0U) << "round " << i;
    for (int j = 0; j < 20; ++j) s.InsertReserved(RandomHash());
  }
}

TEST_F(SegmentTest, ReservedCellsCanBeInsertedWithoutAnotherReserve) {
  Segments s(64 * Segment::kPageCells);
  while (s.segment.PagesNeededFor(128) != Segment::kNoRoom) {
    s.segment.Reserve(128);
    for (int j = 0; j < 128; ++j) s.InsertReserved(RandomHash());
    ASSERT_NO_FATAL_FAILURE(s.Verify());
  }
}

TEST_F(SegmentTest, MoreCellsThanTheRangeHoldsAreRejected) {
  const Segments s(4 * Segment::kPageCells);
  EXPECT_EQ(s.segment.PagesNeededFor(4 * Segment::kPageCells), Segment::kNoRoom);
}

TEST_F(SegmentTest, AnEmptiedSegmentReleasesItsPages) {
  Segments s(64 * Segment::kPageCells);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(s.Add(RandomHash()));
  const std::uint32_t pages = s.segment.pages();
  for (const KeyHash& hash : s.Hashes()) s.Remove(hash);
  EXPECT_EQ(s.segment.Shrink(), pages);
  EXPECT_EQ(s.segment.pages(), 0U);
}

TEST_F(SegmentTest, ShrinkingKeepsTheRemainingCells) {
  Segments s(64 * Segment::kPageCells);
  for (int i = 0; i < 4000; ++i) ASSERT_TRUE(s.Add(RandomHash()));
  const std::vector<KeyHash> hashes = s.Hashes();
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (i % 20 != 0) s.Remove(hashes[i]);
  }
  const std::uint32_t before = s.segment.pages();
  const std::uint32_t given_back = s.segment.Shrink();
  EXPECT_GT(given_back, before / 2);
  EXPECT_EQ(s.segment.pages(), before - given_back);
  ASSERT_NO_FATAL_FAILURE(s.Verify());
}

TEST_F(SegmentTest, ASegmentThatShrankGrowsAgain) {
  Segments s(32 * Segment::kPageCells);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 2500; ++i) ASSERT_TRUE(s.Add(RandomHash()));
    ASSERT_NO_FATAL_FAILURE(s.Verify());
    for (const KeyHash& hash : s.Hashes()) {
      if (Below(30) != 0) s.Remove(hash);
    }
    EXPECT_GT(s.segment.Shrink(), 0U);
    ASSERT_NO_FATAL_FAILURE(s.Verify());
  }
}

TEST_F(SegmentTest, AWellFilledSegmentKeepsItsPages) {
  Segments s(32 * Segment::kPageCells);
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(s.Add(RandomHash()));
  EXPECT_EQ(s.segment.Shrink(), 0U);
}

TEST_F(SegmentTest, LookupsDuringGrowthAreCorrect) {
  Segments s(64 * Segment::kPageCells);
  std::uint32_t caught_growing = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::uint32_t before = s.segment.extent();
    ASSERT_TRUE(s.Add(RandomHash()));
    if (s.segment.extent() == before) continue;
    // Few cells have moved yet: take some out on either side of where the move stands.
    ++caught_growing;
    ASSERT_NO_FATAL_FAILURE(s.Verify());
    const std::vector<KeyHash> hashes = s.Hashes();
    for (std::size_t j = 0; j < hashes.size(); j += 1 + hashes.size() / 16) s.Remove(hashes[j]);
    ASSERT_NO_FATAL_FAILURE(s.Verify());
  }
  EXPECT_GT(caught_growing, 10U);
}

}  // namespace
}  // namespace sluice::store
