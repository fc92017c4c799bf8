#include "base/rational.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

namespace sluice {
namespace {

std::int64_t Part(Wide value) { return static_cast<std::int64_t>(value); }

TEST(RationalTest, ReducesToLowestTerms) {
  const Fraction f = Reduced({Wide{100} * 1'000'000, Wide{60} * 1'000'000});
  EXPECT_EQ(Part(f.numerator), 5);
  EXPECT_EQ(Part(f.denominator), 3);
}

TEST(RationalTest, AFractionThatFitsStaysAsItIs) {
  const Fraction f = LargestBelow({167, 100}, 100);
  EXPECT_EQ(Part(f.numerator), 167);
  EXPECT_EQ(Part(f.denominator), 100);
}

TEST(RationalTest, ATinyFractionHasNoPositiveApproximation) {
  EXPECT_EQ(Part(LargestBelow({1, 1000}, 999).numerator), 0);
}

// All fractions with a small denominator are few enough to be tried.
TEST(RationalTest, AgreesWithExhaustiveSearch) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    const auto numerator = static_cast<std::int64_t>(random() % 5000) + 1;
    const auto denominator = static_cast<std::int64_t>(random() % 5000) + 1;
    const auto most = static_cast<std::int64_t>(random() % 60) + 1;
    const Fraction f = Reduced({numerator, denominator});
    Fraction best{0, 1};
    for (std::int64_t d = 1; d <= most; ++d) {
      const Wide n = f.numerator * d / f.denominator;
      if (n * best.denominator > best.numerator * d) best = {n, d};
    }
    const Fraction found = LargestBelow(f, most);
    EXPECT_LE(Part(found.denominator), most);
    EXPECT_EQ(Part(found.numerator * best.denominator), Part(best.numerator * found.denominator))
        << numerator << "/" << denominator << " up to " << most;
  }
}

TEST(RationalTest, HandlesTheLargestNumbersThatARateCanHave) {
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  const Fraction f = Reduced({Wide{kMost} - 1, Wide{kMost} - 2});
  const Fraction found = LargestBelow(f, kMost / 2);
  EXPECT_LE(Part(found.denominator), kMost / 2);
  EXPECT_LE(found.numerator * f.denominator, f.numerator * found.denominator);
}

}  // namespace
}  // namespace sluice
