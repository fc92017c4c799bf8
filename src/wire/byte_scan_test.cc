#include "wire/byte_scan.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::wire {
namespace {

// Each byte at each place of runs shorter and longer than a vector, against the byte-wise rule.
template <typename Skip, typename IsMember>
void ExpectSameAsByteWise(Skip skip, IsMember is_member) {
  for (std::size_t size = 1; size <= 35; ++size) {
    for (std::size_t place = 0; place < size; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string text(size, 'a');
        text[place] = static_cast<char>(byte);
        const std::size_t expected = is_member(text[place]) ? size : place;
        const char* const stop = skip(text.data(), text.data() + size);
        ASSERT_EQ(static_cast<std::size_t>(stop - text.data()), expected)
            << "byte " << byte << " at " << place << " of " << size;
      }
    }
  }
}

TEST(ByteScan, StopsATargetWhereTheByteWiseRuleDoes) {
  ExpectSameAsByteWise(SkipTarget, IsTargetByte);
}

TEST(ByteScan, StopsAValueWhereTheByteWiseRuleDoes) {
  ExpectSameAsByteWise(SkipValue, IsValueByte);
}

TEST(ByteScan, StopsATokenWhereTheByteWiseRuleDoes) {
  ExpectSameAsByteWise(SkipToken, IsTokenByte);
}

TEST(ByteScan, ATokenHasOnlyBytesOfTokens) {
  EXPECT_FALSE(IsToken(""));
  const auto stop = [](const char* at, const char* end) {
    return IsToken({at, end}) ? end : SkipToken(at, end);
  };
  ExpectSameAsByteWise(stop, IsTokenByte);
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(IsToken(std::string(17, 'X') + c + std::string(15, '-')), IsTokenByte(c)) << byte;
  }
}

TEST(ByteScan, KnowsTheBytesOfEachKind) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool is_control = (byte < 0x20 && c != '\t') || byte == 0x7F;
    EXPECT_EQ(IsValueByte(c), !is_control) << byte;
    EXPECT_EQ(IsTargetByte(c), byte > 0x20 && byte < 0x7F && c != '?' && c != '#') << byte;
    const bool is_separator =
        std::string_view("\"(),/:;<=>?@[\\]{} \t").find(c) != std::string_view::npos;
    EXPECT_EQ(IsTokenByte(c), byte > 0x20 && byte < 0x7F && !is_separator) << byte;
    const bool ends_hosts = std::string_view("/?#@\\ \"<>").find(c) != std::string_view::npos;
    EXPECT_FALSE(IsHostByte(c) && ends_hosts) << byte;
  }
}

}  // namespace
}  // namespace sluice::wire
