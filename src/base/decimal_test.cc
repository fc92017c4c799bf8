#include "base/decimal.h"

#include <optional>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(DecimalTest, DecimalsAreParsedExactly) {
  EXPECT_EQ(ParseDecimal("1.67"), (Decimal{167, 2}));
  EXPECT_EQ(ParseDecimal("100"), (Decimal{100, 0}));
  EXPECT_EQ(ParseDecimal("2.50"), (Decimal{25, 1}));
  EXPECT_EQ(ParseDecimal("-3"), (Decimal{-3, 0}));
  EXPECT_EQ(ParseDecimal("1_000_000"), (Decimal{1'000'000, 0}));
  EXPECT_EQ(ParseDecimal("2.5e6"), (Decimal{2'500'000, 0}));
  EXPECT_EQ(ParseDecimal("1e-3"), (Decimal{1, 3}));
  EXPECT_EQ(ParseDecimal("0.1"), (Decimal{1, 1}));
}

TEST(DecimalTest, InvalidDecimalsAreRejected) {
  for (const char* text : {"",
                           " ",
                           "abc",
                           "1.",
                           ".5",
                           "1,000",
                           "0x10",
                           "1e",
                           "1e99",
                           "--1",
                           "1 2",
                           "_1",
                           "1_",
                           "1__0",
                           "inf",
                           "nan",
                           "12345678901234567890",
                           "1.2.3",
                           "0.1234567890123456789",
                           "99e18"}) {
    EXPECT_EQ(ParseDecimal(text), std::nullopt) << text;
  }
}

TEST(DecimalTest, AWholeNumberHasNoFraction) {
  EXPECT_EQ(ParseWhole("42"), 42);
  EXPECT_EQ(ParseWhole("42.0"), 42);
  EXPECT_EQ(ParseWhole("42.5"), std::nullopt);
}

}  // namespace
}  // namespace sluice
