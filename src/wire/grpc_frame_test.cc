#include "wire/grpc_frame.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "wire/grpc_status.h"
#include "wire/grpc_timeout.h"
#include "wire/gzip.h"

namespace sluice::wire {
namespace {

using namespace std::string_view_literals;
using FrameStatus = GrpcFrameReader::Status;

std::vector<std::string> ReadAll(std::string_view bytes, std::size_t piece, std::size_t most) {
  GrpcFrameReader reader;
  std::vector<std::string> seen;
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    std::string_view rest = bytes.substr(i, piece);
    while (!rest.empty()) {
      const FrameStatus status = reader.Read(rest, most);
      if (status == FrameStatus::kMessage) {
        seen.push_back((reader.compressed() ? "zip " : "") + std::string(reader.message()));
      } else if (status != FrameStatus::kMore) {
        seen.emplace_back(status == FrameStatus::kTooLarge ? "too large" : "broken");
        return seen;
      }
    }
  }
  if (reader.in_message()) seen.emplace_back("more");
  return seen;
}

TEST(GrpcFrame, MessagesAreTheSameHoweverTheyAreSplit) {
  std::string bytes;
  AppendGrpcFrame("first", Compressed::kNo, bytes);
  AppendGrpcFrame("", Compressed::kNo, bytes);
  AppendGrpcFrame(std::string(300, 'x'), Compressed::kYes, bytes);
  bytes += "\0\0\0\0\2a"sv;
  const std::vector<std::string> expected{"first", "", "zip " + std::string(300, 'x'), "more"};
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    EXPECT_EQ(ReadAll(bytes, piece, 300), expected) << "in pieces of " << piece;
  }
}

TEST(GrpcFrame, AMessageThatIsTooLargeIsRejectedByItsLength) {
  EXPECT_EQ(ReadAll("\0\0\0\0\4"sv, 1, 3), std::vector<std::string>{"too large"});
  EXPECT_EQ(ReadAll("\0\xff\xff\xff\xff"sv, 5, 1 << 20), std::vector<std::string>{"too large"});
}

TEST(GrpcFrame, AFlagIsOneOrZero) {
  EXPECT_EQ(ReadAll("\2\0\0\0\0"sv, 1, 3), std::vector<std::string>{"broken"});
}

TEST(GrpcTimeout, HasDigitsAndAUnit) {
  EXPECT_EQ(ParseGrpcTimeout("20m"), Micros(20'000));
  EXPECT_EQ(ParseGrpcTimeout("1H"), std::chrono::hours(1));
  EXPECT_EQ(ParseGrpcTimeout("2M"), std::chrono::minutes(2));
  EXPECT_EQ(ParseGrpcTimeout("3S"), std::chrono::seconds(3));
  EXPECT_EQ(ParseGrpcTimeout("99999999u"), Micros(99'999'999));
  EXPECT_EQ(ParseGrpcTimeout("1n"), Micros(1));
  EXPECT_EQ(ParseGrpcTimeout("0n"), Micros(0));
  EXPECT_EQ(ParseGrpcTimeout("99999999H"), std::chrono::hours(99'999'999));
  for (const std::string_view wrong : {"", "m", "20", "20x", "-1m", "123456789m", "1.5S", " 1S"}) {
    EXPECT_EQ(ParseGrpcTimeout(wrong), std::nullopt) << wrong;
  }
}

TEST(GrpcStatus, MessagesAreEncoded) {
  std::string text;
  AppendGrpcMessage("100% sure\nof \xC3\xBC", text);
  EXPECT_EQ(text, "100%25 sure%0Aof %C3%BC");
  EXPECT_EQ(NumberOf(GrpcStatus::kUnauthenticated), "16");
}

TEST(Gzip, DecompressesWhatItCompressed) {
  Gzip gzip;
  std::string small;
  std::string back;
  for (const std::size_t size : {0U, 1U, 1000U, 16384U, 100'000U}) {
    std::string text;
    for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i) + ",";
    text.resize(size);
    ASSERT_TRUE(gzip.Compress(text, small));
    EXPECT_EQ(gzip.Decompress(small, size, back), Gzip::Status::kDone) << size;
    EXPECT_EQ(back, text);
  }
}

TEST(Gzip, ADecompressionBombIsRejected) {
  Gzip gzip;
  std::string bomb;
  ASSERT_TRUE(gzip.Compress(std::string(64U << 20, '\0'), bomb));
  ASSERT_LT(bomb.size(), 1U << 20);
  std::string out;
  EXPECT_EQ(gzip.Decompress(bomb, 1000, out), Gzip::Status::kTooLarge);
  EXPECT_LE(out.capacity(), 64U << 10);
}

TEST(Gzip, AHighRatioIsRejected) {
  Gzip gzip;
  std::string small;
  std::string out;
  ASSERT_TRUE(gzip.Compress(std::string(60'000, 'a'), small));
  ASSERT_LT(small.size() * 100, 60'000U);
  EXPECT_EQ(gzip.Decompress(small, 64U << 10, out), Gzip::Status::kTooLarge);
  EXPECT_LE(out.size(), Gzip::MaxInflated(small.size(), 64U << 10) + 1);
  ASSERT_TRUE(gzip.Compress(std::string(4000, 'a'), small));
  EXPECT_EQ(gzip.Decompress(small, 64U << 10, out), Gzip::Status::kDone) << "a small one is none";
}

TEST(Gzip, TruncatedAndTrailingDataIsInvalid) {
  Gzip gzip;
  std::string small;
  std::string out;
  ASSERT_TRUE(gzip.Compress("some text to be compressed", small));
  for (std::size_t size = 0; size < small.size(); ++size) {
    EXPECT_EQ(gzip.Decompress(std::string_view(small).substr(0, size), 1000, out),
              Gzip::Status::kBroken)
        << size;
  }
  EXPECT_EQ(gzip.Decompress(small + "x", 1000, out), Gzip::Status::kBroken);
  EXPECT_EQ(gzip.Decompress("no gzip at all", 1000, out), Gzip::Status::kBroken);
  EXPECT_EQ(gzip.Decompress(small, 1000, out), Gzip::Status::kDone);
}

}  // namespace
}  // namespace sluice::wire
