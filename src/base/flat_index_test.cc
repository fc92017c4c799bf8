#include "base/flat_index.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

struct Place {
  std::uint32_t key = 0;
  int value = 0;
  [[nodiscard]] bool empty() const { return key == 0; }
};

// So that many meet at one place.
std::uint64_t HashOf(const Place& place) { return place.key % 7; }

auto With(std::uint32_t key) {
  return [key](const Place& place) { return place.key == key; };
}

TEST(FlatIndexTest, AnEmptyIndexFindsNothing) {
  EXPECT_EQ(FlatIndex<Place>().Find(3, With(3)), nullptr);
  EXPECT_EQ(FlatIndex<Place>(0).Find(3, With(3)), nullptr);
}

TEST(FlatIndexTest, EverythingIsFoundHoweverItGrowsAndCollides) {
  FlatIndex<Place> index;
  for (std::uint32_t key = 1; key <= 1000; ++key) {
    index.GrowFor(key, HashOf);
    const Place added{key, static_cast<int>(key * 2)};
    index.FindOrEmpty(HashOf(added), With(key)) = added;
  }
  for (std::uint32_t key = 1; key <= 1000; ++key) {
    const Place* const found = index.Find(HashOf({key}), With(key));
    ASSERT_NE(found, nullptr) << key;
    EXPECT_EQ(found->value, static_cast<int>(key * 2));
  }
  EXPECT_EQ(index.Find(5, With(1001)), nullptr);
}

TEST(FlatIndexTest, APresentElementIsFoundInsteadOfAnEmptySlot) {
  FlatIndex<Place> index(2);
  index.Empty(1) = {8, 1};
  index.FindOrEmpty(1, With(8)).value = 2;
  EXPECT_EQ(index.Find(1, With(8))->value, 2);
}

}  // namespace
}  // namespace sluice
