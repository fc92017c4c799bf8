#include "resp/encoder.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace sluice::resp {
namespace {

template <typename... Arguments>
std::string Appended(void (*append)(std::string&, Arguments...), Arguments... arguments) {
  std::string out = "before";
  append(out, arguments...);
  EXPECT_TRUE(out.starts_with("before"));
  return out.substr(6);
}

TEST(EncoderTest, ACommandIsAnArrayOfBulkStrings) {
  std::string out;
  AppendCommand(out, {"SET", "k", "a\r\nb"});
  EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\na\r\nb\r\n");
}

TEST(EncoderTest, NumbersInCommandsAreBulkStrings) {
  EXPECT_EQ(Appended(AppendBulkInteger, std::int64_t{-120}), "$4\r\n-120\r\n");
  EXPECT_EQ(Appended(AppendBulkInteger, std::numeric_limits<std::int64_t>::min()),
            "$20\r\n-9223372036854775808\r\n");
}

TEST(EncoderTest, LinesCantBeEndedByTheirText) {
  EXPECT_EQ(Appended(AppendSimpleString, std::string_view("a\r\nb")), "+a  b\r\n");
  EXPECT_EQ(Appended(AppendError, std::string_view("ERR x\n+OK")), "-ERR x +OK\r\n");
}

TEST(EncoderTest, IntegersOfEverySizeAreWritten) {
  EXPECT_EQ(Appended(AppendInteger, std::int64_t{0}), ":0\r\n");
  EXPECT_EQ(Appended(AppendInteger, std::numeric_limits<std::int64_t>::max()),
            ":9223372036854775807\r\n");
  EXPECT_EQ(Appended(AppendInteger, std::numeric_limits<std::int64_t>::min()),
            ":-9223372036854775808\r\n");
  EXPECT_EQ(Appended(AppendArrayHeader, std::numeric_limits<std::size_t>::max()),
            "*18446744073709551615\r\n");
}

TEST(EncoderTest, EachProtocolHasItsNull) {
  EXPECT_EQ(Appended(AppendNull, Protocol::kResp2), "$-1\r\n");
  EXPECT_EQ(Appended(AppendNull, Protocol::kResp3), "_\r\n");
}

TEST(EncoderTest, TypesMissingInResp2AreWrittenLikeInRedis) {
  EXPECT_EQ(Appended(AppendMapHeader, std::size_t{2}, Protocol::kResp2), "*4\r\n");
  EXPECT_EQ(Appended(AppendMapHeader, std::size_t{2}, Protocol::kResp3), "%2\r\n");
  EXPECT_EQ(Appended(AppendBoolean, true, Protocol::kResp2), ":1\r\n");
  EXPECT_EQ(Appended(AppendBoolean, false, Protocol::kResp3), "#f\r\n");
  EXPECT_EQ(Appended(AppendDouble, 0.5, Protocol::kResp2), "$3\r\n0.5\r\n");
  EXPECT_EQ(Appended(AppendDouble, -std::numeric_limits<double>::infinity(), Protocol::kResp3),
            ",-inf\r\n");
  EXPECT_EQ(Appended(AppendDouble, std::numeric_limits<double>::quiet_NaN(), Protocol::kResp3),
            ",nan\r\n");
  EXPECT_EQ(Appended(AppendDouble, -1.7976931348623157e308, Protocol::kResp3),
            ",-1.7976931348623157e+308\r\n");
}

}  // namespace
}  // namespace sluice::resp
