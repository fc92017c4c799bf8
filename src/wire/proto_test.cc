#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/proto_reader.h"
#include "wire/proto_writer.h"

namespace sluice::wire {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;
using ::testing::ElementsAre;

std::vector<std::uint32_t> FieldsOf(std::string_view message, bool& ok) {
  std::vector<std::uint32_t> fields;
  ProtoReader reader(message);
  while (reader.Next()) fields.push_back(reader.field());
  ok = reader.ok();
  return fields;
}

bool IsRight(std::string_view message) {
  bool ok = false;
  FieldsOf(message, ok);
  return ok;
}

TEST(ProtoReaderTest, AnEmptyMessageHasNoFields) {
  ProtoReader reader("");
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.ok());
}

TEST(ProtoReaderTest, ReadsTheExamplesOfTheSpecification) {
  ProtoReader number("\x08\x96\x01");
  ASSERT_TRUE(number.Next());
  EXPECT_EQ(number.field(), 1U);
  EXPECT_EQ(number.Varint(), 150U);
  EXPECT_FALSE(number.Next());
  EXPECT_TRUE(number.ok());

  ProtoReader text("\x12\x07testing");
  ASSERT_TRUE(text.Next());
  EXPECT_EQ(text.field(), 2U);
  EXPECT_EQ(text.Bytes(), "testing");
  EXPECT_TRUE(text.ok());
}

TEST(ProtoReaderTest, UnknownFieldsAreSkipped) {
  const std::string message =
      "\x08\x01"s  // 1: varint
      "\x11"s
      "12345678"  // 2: 64 bits
      "\x1A\x03"s
      "\xFF\xFF\xFF"  // 3: bytes, not looked into
      "\x25"s
      "1234"  // 4: 32 bits
      "\xF8\xFF\xFF\xFF\x0F\x00"s
      "\x30\x00"s;  // 2^29 − 1, and 6
  bool ok = false;
  EXPECT_THAT(FieldsOf(message, ok), ElementsAre(1, 2, 3, 4, (1U << 29U) - 1, 6));
  EXPECT_TRUE(ok);
}

TEST(ProtoReaderTest, TruncatedMessagesAreRejected) {
  const std::string message =
      "\x08\x96\x01\x11"s
      "12345678"
      "\x1A\x03"s
      "abc"
      "\x25"s
      "1234";
  const std::vector<std::size_t> ends = {0, 3, 12, 17, 22};
  for (std::size_t size = 0; size <= message.size(); ++size) {
    const bool at_an_end = std::find(ends.begin(), ends.end(), size) != ends.end();
    EXPECT_EQ(IsRight(std::string_view(message).substr(0, size)), at_an_end) << size;
  }
}

TEST(ProtoReaderTest, LengthsBeyondTheMessageAreRefused) {
  EXPECT_FALSE(IsRight("\x0A\x02x"s));
  EXPECT_FALSE(IsRight("\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01xyz"s));
}

TEST(ProtoReaderTest, NumbersHave64BitsAtMost) {
  ProtoReader most("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"sv);
  ASSERT_TRUE(most.Next());
  EXPECT_EQ(most.Varint(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(most.Uint32(), std::numeric_limits<std::uint32_t>::max());
  EXPECT_FALSE(IsRight("\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"s));
  EXPECT_FALSE(IsRight("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s));
}

TEST(ProtoReaderTest, OverlongVarintsAreAccepted) {
  ProtoReader reader("\x08\x81\x80\x00"sv);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Varint(), 1U);
}

TEST(ProtoReaderTest, GroupsAndUnknownWireTypesAreRejected) {
  for (const int kind : {3, 4, 6, 7}) {
    EXPECT_FALSE(IsRight(std::string(1, static_cast<char>(8 | kind)) + "\x00\x00\x00"s)) << kind;
  }
}

TEST(ProtoReaderTest, FieldNumbersAreFrom1To29Bits) {
  EXPECT_FALSE(IsRight("\x00\x01"s));
  EXPECT_FALSE(IsRight("\x80\x80\x80\x80\x10\x01"s));
}

TEST(ProtoReaderTest, AValueOfAnotherKindIsRefused) {
  ProtoReader number("\x08\x01\x08\x02"sv);
  ASSERT_TRUE(number.Next());
  EXPECT_EQ(number.Bytes(), "");
  EXPECT_FALSE(number.ok());
  EXPECT_FALSE(number.Next());

  ProtoReader text("\x0A\x01x"sv);
  ASSERT_TRUE(text.Next());
  EXPECT_EQ(text.Varint(), 0U);
  EXPECT_FALSE(text.ok());
}

TEST(ProtoWriterTest, WritesTheExamplesOfTheSpecification) {
  std::string out;
  ProtoWriter(out).Uint(1, 150).Bytes(2, "testing");
  EXPECT_EQ(out, "\x08\x96\x01\x12\x07testing"s);
}

TEST(ProtoWriterTest, DefaultValuesAreNotWritten) {
  std::string out;
  ProtoWriter(out).Uint(1, 0).Bytes(2, "");
  EXPECT_EQ(out, "");
}

TEST(ProtoWriterTest, NestedMessagesHaveTheirLength) {
  for (const std::size_t size : {0, 1, 125, 126, 127, 128, 16000, 17000, 3000000}) {
    std::string out = "before";
    ProtoWriter writer(out);
    const auto outer = writer.Begin(1);
    const auto inner = writer.Begin(2);
    writer.Bytes(3, std::string(size, 'x'));
    writer.End(inner);
    writer.Uint(4, 5);
    writer.End(outer);

    ProtoReader whole(std::string_view(out).substr(6));
    ASSERT_TRUE(whole.Next());
    ProtoReader first(whole.Bytes());
    EXPECT_FALSE(whole.Next());
    ASSERT_TRUE(first.Next());
    EXPECT_EQ(first.field(), 2U);
    ProtoReader second(first.Bytes());
    ASSERT_EQ(second.Next(), size > 0);
    if (size > 0) {
      EXPECT_EQ(second.Bytes().size(), size);
    }
    ASSERT_TRUE(first.Next());
    EXPECT_EQ(std::pair(first.field(), first.Varint()), std::pair(4U, std::uint64_t{5}));
    EXPECT_FALSE(first.Next());
    EXPECT_TRUE(whole.ok() && first.ok() && second.ok());
  }
}

}  // namespace
}  // namespace sluice::wire
