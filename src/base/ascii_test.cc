#include "base/ascii.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(AsciiTest, BytesOutsideAsciiAreNeitherLettersNorDigitsNorFolded) {
  for (int byte = 0x80; byte <= 0xFF; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_FALSE(IsDigit(c) || IsLetter(c) || IsControl(c)) << byte;
    EXPECT_EQ(AsciiLower(c), c) << byte;
    EXPECT_EQ(HexDigit(c), -1) << byte;
  }
}

TEST(AsciiTest, LettersAreEqualInUpperAndLowerCase) {
  EXPECT_EQ(LowerCase("Content-Length: @[`{"), "content-length: @[`{");
  EXPECT_TRUE(EqualIgnoringCase("Content-Length", "cONTENT-lENGTH"));
  EXPECT_FALSE(EqualIgnoringCase("@", "`"));
  EXPECT_FALSE(EqualIgnoringCase("a", "ab"));
}

TEST(AsciiTest, HexadecimalRoundTrips) {
  for (int byte = 0; byte <= 0xFF; ++byte) {
    std::string lower;
    std::string upper;
    AppendHex(static_cast<char>(byte), lower);
    AppendHex(static_cast<char>(byte), upper, kHexCapitals);
    EXPECT_EQ(HexByte(lower + "x"), byte);
    EXPECT_EQ(HexByte(upper), byte);
  }
  for (const char* wrong : {"", "f", "g0", "0g", " 1", "-1"}) EXPECT_EQ(HexByte(wrong), -1);
}

TEST(AsciiTest, OnlyBlanksAndTabsAreTrimmed) {
  EXPECT_EQ(TrimBlanks(" \t a b\t "), "a b");
  EXPECT_EQ(TrimBlanks("\na\n"), "\na\n");
  EXPECT_EQ(TrimBlanks(" \t"), "");
}

}  // namespace
}  // namespace sluice
