#include "base/base64url.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Base64UrlTest, BytesOfEachLengthRoundTrip) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    std::string back;
    AppendBase64Url(bytes, text);
    ASSERT_TRUE(DecodeBase64Url(text, back)) << text;
    ASSERT_EQ(back, bytes);
    bytes += static_cast<char>(i * 7);
  }
}

TEST(Base64UrlTest, TextsAreThoseOfRfc4648WithoutPadding) {
  std::string text;
  AppendBase64Url("foobar\xFB\xFF", text);
  EXPECT_EQ(text, "Zm9vYmFy-_8");
}

TEST(Base64UrlTest, NonCanonicalTextsAreRejected) {
  std::string out;
  for (const char* wrong : {"Z", "Zh", "Zm9", "Zg==", "+/+/", "Zm 9", "Zm9v\n", "Zm9vZ"}) {
    EXPECT_FALSE(DecodeBase64Url(wrong, out)) << wrong;
  }
}

}  // namespace
}  // namespace sluice
