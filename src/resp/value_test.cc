#include "resp/value.h"

#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "resp/decoder.h"

namespace sluice::resp {
namespace {

Reply Decoded(std::string_view bytes) {
  Decoder decoder;
  decoder.Feed(bytes);
  EXPECT_EQ(decoder.Next(), Decoder::Status::kReply) << decoder.error();
  return Reply(decoder.reply());
}

TEST(ValueTest, ElementsAreFoundBehindNestedOnes) {
  const Reply reply = Decoded("*3\r\n*2\r\n:1\r\n*1\r\n:2\r\n%1\r\n+k\r\n:3\r\n+last\r\n");
  const Value value = reply.value();
  ASSERT_EQ(value.size(), 3U);
  EXPECT_EQ(value.at(0).at(1).at(0).integer(), 2);
  EXPECT_EQ(value.at(1).size(), 2U);
  EXPECT_EQ(value.at(1).at(1).integer(), 3);
  EXPECT_EQ(value.at(2).text(), "last");
}

TEST(ValueTest, AReplyOutlivesTheDecoder) {
  Decoder decoder;
  decoder.Feed("*2\r\n$5\r\nhello\r\n+world\r\n");
  ASSERT_EQ(decoder.Next(), Decoder::Status::kReply);
  const Reply whole(decoder.reply());
  const Reply part(decoder.reply().at(1));
  decoder.Feed("*2\r\n$5\r\nxxxxx\r\n+xxxxx\r\n");
  ASSERT_EQ(decoder.Next(), Decoder::Status::kReply);
  EXPECT_EQ(Describe(whole.value()), "[\"hello\", \"world\"]");
  EXPECT_EQ(Describe(part.value()), "\"world\"");
}

TEST(ValueTest, AnErrorsFirstWordIsItsCode) {
  EXPECT_EQ(Decoded("-NOSCRIPT No matching script.\r\n").value().error_code(), "NOSCRIPT");
  EXPECT_EQ(Decoded("-LOADING\r\n").value().error_code(), "LOADING");
  EXPECT_EQ(Decoded("!8\r\nBUSY you\r\n").value().error_code(), "BUSY");
  EXPECT_EQ(Decoded("+OK\r\n").value().error_code(), "");
}

TEST(ValueTest, NumbersAreReadFromTextToo) {
  EXPECT_EQ(Decoded(":5\r\n").value().ToInteger(), 5);
  EXPECT_EQ(Decoded("$3\r\n-42\r\n").value().ToInteger(), -42);
  EXPECT_EQ(Decoded("$3\r\n4.2\r\n").value().ToInteger(), std::nullopt);
  EXPECT_EQ(Decoded("$0\r\n\r\n").value().ToInteger(), std::nullopt);
  EXPECT_EQ(Decoded("-12\r\n").value().ToInteger(), std::nullopt);
  EXPECT_EQ(Decoded("_\r\n").value().ToInteger(), std::nullopt);
}

TEST(ValueTest, AccessorsOfOtherTypesReturnDefaults) {
  const Reply reply = Decoded(":5\r\n");
  EXPECT_EQ(reply.value().text(), "");
  EXPECT_EQ(reply.value().size(), 0U);
  EXPECT_EQ(reply.value().number(), 0);
  EXPECT_FALSE(reply.value().boolean());
  EXPECT_EQ(reply.value().begin(), reply.value().end());
  EXPECT_TRUE(Reply().value().is_null());
}

}  // namespace
}  // namespace sluice::resp
