#include "resp/decoder.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "resp/encoder.h"
#include "resp/testing/reencode.h"

namespace sluice::resp {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Each reply in one line, then the error if there is one.
std::vector<std::string> Drain(Decoder& decoder) {
  std::vector<std::string> seen;
  Decoder::Status status;
  while ((status = decoder.Next()) == Decoder::Status::kReply) {
    seen.push_back(Describe(decoder.reply()));
  }
  if (status == Decoder::Status::kError) seen.push_back("failed: " + decoder.error());
  return seen;
}

std::vector<std::string> Decode(std::string_view bytes, const DecoderLimits& limits = {}) {
  Decoder decoder(limits);
  decoder.Feed(bytes);
  return Drain(decoder);
}

std::string ErrorOf(std::string_view bytes, const DecoderLimits& limits = {}) {
  Decoder decoder(limits);
  decoder.Feed(bytes);
  Drain(decoder);
  return decoder.error();
}

const std::vector<std::pair<std::string, std::string>>& Corpus() {
  static const std::vector<std::pair<std::string, std::string>> corpus = {
      {"+OK\r\n", "\"OK\""},
      {"+\r\n", "\"\""},
      {"-ERR no\r\n", "error(ERR no)"},
      {":0\r\n", "0"},
      {":-12\r\n", "-12"},
      {":+7\r\n", "7"},
      {":9223372036854775807\r\n", "9223372036854775807"},
      {":-9223372036854775808\r\n", "-9223372036854775808"},
      {"$0\r\n\r\n", "\"\""},
      {"$5\r\nhe\r\nl\r\n", "\"he\r\nl\""},
      {"$-1\r\n", "null"},
      {"*-1\r\n", "null"},
      {"_\r\n", "null"},
      {"*0\r\n", "[]"},
      {"*2\r\n:1\r\n*1\r\n+a\r\n", "[1, [\"a\"]]"},
      {"*2\r\n*0\r\n*0\r\n", "[[], []]"},
      {",1.5\r\n", "1.500000"},
      {",-2\r\n", "-2.000000"},
      {",1e3\r\n", "1000.000000"},
      {",inf\r\n", "inf"},
      {",-inf\r\n", "-inf"},
      {",nan\r\n", "nan"},
      {"#t\r\n", "true"},
      {"#f\r\n", "false"},
      {"(-3492890328409238509324850943850943825024385\r\n",
       "\"-3492890328409238509324850943850943825024385\""},
      {"!10\r\nERR a\r\nbcd\r\n", "error(ERR a\r\nbcd)"},
      {"=8\r\ntxt:some\r\n", "\"some\""},
      {"=4\r\nmkd:\r\n", "\"\""},
      {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "map[\"a\", 1, \"b\", [2]]"},
      {"%0\r\n", "map[]"},
      {"~2\r\n:1\r\n:2\r\n", "[1, 2]"},
      {">2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n", "push[\"invalidate\", [\"k\"]]"},
      {"|1\r\n+ttl\r\n:3600\r\n:42\r\n", "42"},
      {"|0\r\n:42\r\n", "42"},
      {"*2\r\n|1\r\n+a\r\n*2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", "[3, 4]"},
      {"|1\r\n+outer\r\n|1\r\n+inner\r\n:1\r\n:2\r\n:3\r\n", "3"},
  };
  return corpus;
}

TEST(DecoderTest, EveryTypeOfReplyIsDecoded) {
  for (const auto& [bytes, meaning] : Corpus()) {
    EXPECT_THAT(Decode(bytes), ElementsAre(meaning)) << bytes;
  }
}

TEST(DecoderTest, SplitsDoNotMatter) {
  for (const auto& [bytes, meaning] : Corpus()) {
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
      for (std::size_t second = first; second <= bytes.size(); ++second) {
        Decoder decoder;
        decoder.Feed(std::string_view(bytes).substr(0, first));
        std::vector<std::string> seen = Drain(decoder);
        decoder.Feed(std::string_view(bytes).substr(first, second - first));
        for (auto& reply : Drain(decoder)) seen.push_back(reply);
        decoder.Feed(std::string_view(bytes).substr(second));
        for (auto& reply : Drain(decoder)) seen.push_back(reply);
        ASSERT_THAT(seen, ElementsAre(meaning)) << bytes << " split at " << first << ", " << second;
      }
    }
  }
}

TEST(DecoderTest, RepliesBehindEachOtherComeOutInOrder) {
  std::string all;
  std::vector<std::string> meanings;
  for (const auto& [bytes, meaning] : Corpus()) {
    all += bytes;
    meanings.push_back(meaning);
  }
  EXPECT_EQ(Decode(all), meanings);
  for (std::size_t step = 1; step < 40; ++step) {
    Decoder decoder;
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < all.size(); at += step) {
      decoder.Feed(std::string_view(all).substr(at, step));
      for (auto& reply : Drain(decoder)) seen.push_back(reply);
    }
    EXPECT_EQ(seen, meanings) << "in pieces of " << step;
    EXPECT_EQ(decoder.pending(), 0U);
  }
}

TEST(DecoderTest, DecodedRepliesCanBeEncodedAgain) {
  for (const auto& [bytes, meaning] : Corpus()) {
    Decoder decoder;
    decoder.Feed(bytes);
    ASSERT_EQ(decoder.Next(), Decoder::Status::kReply);
    EXPECT_EQ(decoder.raw(), bytes);
    std::string again;
    testing::AppendValue(decoder.reply(), again);
    EXPECT_THAT(Decode(again), ElementsAre(meaning)) << again;
  }
}

TEST(DecoderTest, InvalidRespIsRejectedWithAReason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"HTTP/1.1 400 Bad Request\r\n", "no value begins with 'H'"},
      {std::string("\0", 1), "no value begins with '\\x00'"},
      {":12a\r\n", "no 64-bit integer: '12a'"},
      {":\r\n", "no 64-bit integer: ''"},
      {":+-1\r\n", "no 64-bit integer: '+-1'"},
      {":9223372036854775808\r\n", "no 64-bit integer"},
      {"$x\r\n", "a length must be a number, not 'x'"},
      {"$-2\r\n", "a length must be a number, not '-2'"},
      {"!-1\r\n", "a length must be a number, not '-1'"},
      {"%-1\r\n", "a length must be a number, not '-1'"},
      {"$?\r\n", "streamed strings and aggregates are not supported"},
      {"$3\r\nabcd\r\n", "a string of 3 bytes does not end where it should: 'd\\x0d'"},
      {"+a\rb\r\n", "a carriage return without a line feed after 'a'"},
      {"+a\nb\r\n", "a line feed without a carriage return in 'a\\x0ab'"},
      {"#x\r\n", "no boolean: 'x'"},
      {"_x\r\n", "a null with something in it: 'x'"},
      {",abc\r\n", "no double: 'abc'"},
      {",infinity\r\n", "no double: 'infinity'"},
      {",\r\n", "no double: ''"},
      {"(12x\r\n", "no number: '12x'"},
      {"(-\r\n", "no number: '-'"},
      {"=3\r\ntxt\r\n", "a verbatim string without its format: 'txt'"},
      {"*1\r\n>1\r\n:1\r\n", "a push message inside a reply"},
  };
  for (const auto& [bytes, reason] : cases) EXPECT_THAT(ErrorOf(bytes), HasSubstr(reason)) << bytes;
}

TEST(DecoderTest, AfterAnErrorThereIsNothingMore) {
  Decoder decoder;
  decoder.Feed(":1\r\n?\r\n");
  EXPECT_EQ(decoder.Next(), Decoder::Status::kReply);
  EXPECT_EQ(decoder.Next(), Decoder::Status::kError);
  decoder.Feed(":1\r\n");
  EXPECT_EQ(decoder.Next(), Decoder::Status::kError);
  EXPECT_TRUE(decoder.failed());
}

TEST(DecoderTest, LimitsAreReachedButNotPassed) {
  EXPECT_THAT(Decode("$4\r\nabcd\r\n", {.max_text = 4}), ElementsAre("\"abcd\""));
  EXPECT_THAT(ErrorOf("$5\r\n", {.max_text = 4}), HasSubstr("a string of 5 bytes; at most 4"));
  EXPECT_THAT(Decode("+abcd\r\n", {.max_line = 4}), ElementsAre("\"abcd\""));
  EXPECT_THAT(ErrorOf("+abcde", {.max_line = 4}), HasSubstr("a line of more than 4 bytes"));
  EXPECT_THAT(Decode("*2\r\n:1\r\n:2\r\n", {.max_elements = 2}), ElementsAre("[1, 2]"));
  EXPECT_THAT(ErrorOf("*3\r\n", {.max_elements = 2}), HasSubstr("more than 2 values"));
  EXPECT_THAT(ErrorOf("*1\r\n*2\r\n", {.max_elements = 2}), HasSubstr("more than 2 values"));
  EXPECT_THAT(ErrorOf("%2\r\n", {.max_elements = 3}), HasSubstr("more than 3 values"));
  EXPECT_THAT(ErrorOf("%18446744073709551615\r\n"), HasSubstr("values in a reply"));
  EXPECT_THAT(Decode("*1\r\n*1\r\n:1\r\n", {.max_depth = 2}), ElementsAre("[[1]]"));
  EXPECT_THAT(ErrorOf("*1\r\n*1\r\n*1\r\n", {.max_depth = 2}), HasSubstr("more than 2 aggregates"));
  EXPECT_THAT(Decode("*2\r\n:1\r\n:2\r\n", {.max_bytes = 12}), ElementsAre("[1, 2]"));
  EXPECT_THAT(ErrorOf("*2\r\n:1\r\n:2\r\n", {.max_bytes = 11}), HasSubstr("more than 11 bytes"));
  EXPECT_THAT(ErrorOf("$9\r\n", {.max_bytes = 11}), HasSubstr("more than 11 bytes"));
}

TEST(DecoderTest, LimitsAreForEachReplyAnew) {
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += "*2\r\n:1\r\n:2\r\n";
  EXPECT_EQ(Decode(bytes, {.max_bytes = 12, .max_elements = 2, .max_depth = 1}).size(), 100U);
}

TEST(DecoderTest, AnAnnouncedSizeTakesNoMemoryBeforeItsBytesArrive) {
  Decoder decoder;
  decoder.Feed("$60000000\r\n");
  EXPECT_EQ(decoder.Next(), Decoder::Status::kNeedMore);
  EXPECT_LT(decoder.Prepare(1).size(), 100'000U);
}

TEST(DecoderTest, ALargeReplyArrivesWhole) {
  const std::string text(3'000'000, 'x');
  std::string bytes;
  AppendBulk(bytes, text);
  Decoder decoder;
  Decoder::Status status = Decoder::Status::kNeedMore;
  for (std::size_t at = 0; at < bytes.size(); at += 65'536) {
    EXPECT_EQ(status, Decoder::Status::kNeedMore);
    decoder.Feed(std::string_view(bytes).substr(at, 65'536));
    status = decoder.Next();
  }
  ASSERT_EQ(status, Decoder::Status::kReply);
  EXPECT_EQ(decoder.reply().text(), text);
  decoder.Feed("");
  EXPECT_LT(decoder.Prepare(1).size(), 1'000'000U) << "what it needed is given back";
}

TEST(DecoderTest, InTheSteadyStateNothingIsAllocated) {
  std::string bytes;
  for (int i = 0; i < 100; ++i)
    bytes += "*5\r\n:1\r\n:100\r\n:99\r\n$-1\r\n$20\r\n01234567890123456789\r\n";
  Decoder decoder;
  std::int64_t sum = 0;
  const auto run = [&] {
    for (std::size_t at = 0; at < bytes.size(); at += 1000) {
      decoder.Feed(std::string_view(bytes).substr(at, 1000));
      while (decoder.Next() == Decoder::Status::kReply) {
        for (const Value element : decoder.reply()) sum += element.integer();
      }
    }
  };
  run();
  const std::size_t before = Allocations();
  run();
  EXPECT_EQ(Allocations() - before, 0U);
  EXPECT_EQ(sum, 2 * 100 * 200);
}

}  // namespace
}  // namespace sluice::resp
