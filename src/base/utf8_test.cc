#include "base/utf8.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Utf8Test, EachCodePointButSurrogatesHasOneForm) {
  for (std::uint32_t point = 0; point <= 0x10FFFF; ++point) {
    std::string text;
    AppendCodePoint(point, text);
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    ASSERT_EQ(Utf8Size(text), surrogate ? 0 : text.size()) << point;
    text.pop_back();
    ASSERT_TRUE(text.empty() || !IsUtf8(text)) << point;
  }
}

TEST(Utf8Test, OverlongFormsAndTooLargeCodePointsAreRejected) {
  for (const char* wrong : {"\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xF0\x8F\xBF\xBF",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\x80", "a\xE2\x82"}) {
    EXPECT_FALSE(IsUtf8(wrong)) << wrong;
  }
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_EQ(Utf8Size(""), 0);
}

TEST(Utf8Test, EachInvalidByteIsReplaced) {
  std::string out;
  AppendAsUtf8("a\xC3\xA4\xFF\xE2\x82z", out);
  EXPECT_EQ(out, "a\xC3\xA4\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
}

}  // namespace
}  // namespace sluice
