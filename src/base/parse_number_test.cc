#include "base/parse_number.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(ParseNumberTest, BoundsOfEachTypeAreParsedAndNotExceeded) {
  EXPECT_EQ(ParseNumber<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(ParseNumber<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::int64_t>("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(ParseNumber<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParseNumber<std::int64_t>("9223372036854775808"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseNumber<std::uint64_t>("18446744073709551616"), std::nullopt);
}

TEST(ParseNumberTest, LeadingZerosDontOverflow) {
  EXPECT_EQ(ParseNumber<std::uint16_t>("000000000000000000000000000007"), 7);
}

TEST(ParseNumberTest, NothingButDigitsAndAMinusIsANumber) {
  for (const char* wrong : {"", "-", "+1", " 1", "1 ", "1.0", "0x1", "1e3", "--1", "1-"}) {
    EXPECT_EQ(ParseNumber<std::int64_t>(wrong), std::nullopt) << wrong;
  }
  EXPECT_EQ(ParseNumber<std::int64_t>("-12"), -12);
  EXPECT_EQ(ParseNumber<std::uint32_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::uint32_t>("-0"), std::nullopt);
}

TEST(ParseNumberTest, RealNumbersMayHaveAFractionAndAnExponent) {
  EXPECT_EQ(ParseNumber<double>("1.5e3"), 1500.0);
  EXPECT_EQ(ParseNumber<double>("1e999"), std::nullopt);
}

}  // namespace
}  // namespace sluice
