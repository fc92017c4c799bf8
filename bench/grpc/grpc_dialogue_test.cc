#include "grpc_dialogue.h"

#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using std::string_literals::operator""s;

// Frames as a server sends them: length, type, flags, stream, payload.
std::string Frame(char type, char flags, char stream, const std::string& payload) {
  return "\0\0"s + static_cast<char>(payload.size()) + type + flags + "\0\0\0"s + stream + payload;
}
std::string Headers(char stream) { return Frame(1, 4, stream, "\x88"); }
std::string Trailers(char stream) { return Frame(1, 5, stream, "x"); }
std::string Message(char stream, char code) {
  return Frame(0, 0, stream, "\0\0\0\0\2\x08"s + code);
}
std::string Settings(char name, char value) {
  return Frame(4, 0, 0, "\0"s + name + "\0\0\0"s + value);
}

class GrpcDialogueTest : public ::testing::Test {
 protected:
  std::string Ask() {
    std::string out;
    dialogue_.Ask(out);
    return out;
  }

  // All frames but the last are no replies.
  Reply Hear(const std::string& bytes) {
    said_.clear();
    std::string_view rest = bytes;
    for (;;) {
      const Reply reply = dialogue_.Hear(rest, said_);
      EXPECT_GT(reply.size, 0U);
      rest.remove_prefix(reply.size);
      if (rest.empty()) return reply;
      EXPECT_EQ(reply.verdict, Verdict::kNone);
    }
  }

  std::string said_;
  GrpcDialogue dialogue_{
      std::make_shared<Requests>(GrpcDialogue::FramedMessage("key #######"), 1000)};
};

TEST_F(GrpcDialogueTest, TheFirstRequestGreetsAndTheNextOnesAreShort) {
  EXPECT_TRUE(Ask().starts_with("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  const std::string next = Ask();
  EXPECT_EQ(next.substr(0, 9), "\0\0\7\1\4\0\0\0\3"s);
  EXPECT_EQ(next.substr(16, 14), "\0\0\20\0\1\0\0\0\3\0\0\0\0\13"s);
  EXPECT_EQ(next.substr(30), "key 0000617");
}

TEST_F(GrpcDialogueTest, TheMessageOfAReplyIsItsVerdict) {
  Ask();
  Ask();
  Ask();
  EXPECT_EQ(Hear(Headers(1) + Message(1, 1) + Trailers(1)).verdict, Verdict::kAllowed);
  EXPECT_EQ(Hear(Headers(3) + Message(3, 2) + Trailers(3)).verdict, Verdict::kDenied);
  EXPECT_EQ(Hear(Trailers(5)).verdict, Verdict::kWrong) << "an error has no message";
  EXPECT_EQ(Hear(Trailers(5)).verdict, Verdict::kWrong) << "nobody asked";
}

TEST_F(GrpcDialogueTest, RepliesMayComeInAnotherOrder) {
  Ask();
  Ask();
  EXPECT_EQ(Hear(Message(3, 1) + Message(1, 1) + Trailers(3)).turn, 1U);
  EXPECT_EQ(Hear(Trailers(1)).turn, 0U);
}

TEST_F(GrpcDialogueTest, AFrameIsReadWhenItIsAllThere) {
  Ask();
  const std::string frame = Message(1, 1);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    EXPECT_EQ(dialogue_.Hear(std::string_view(frame).substr(0, i), said_).size, 0U);
  }
  EXPECT_EQ(dialogue_.Hear(frame, said_).size, frame.size());
}

TEST_F(GrpcDialogueTest, NoMoreStreamsAreOpenThanTheServerWants) {
  Ask();
  EXPECT_EQ(Hear(Settings(3, 2)).verdict, Verdict::kNone);
  EXPECT_EQ(said_, "\0\0\0\4\1\0\0\0\0"s);
  EXPECT_NE(Ask(), "");
  EXPECT_EQ(Ask(), "");
  EXPECT_EQ(Hear(Message(1, 1) + Trailers(1)).verdict, Verdict::kAllowed);
  EXPECT_EQ(said_.substr(0, 9), "\0\0\7\1\4\0\0\0\5"s);
}

TEST_F(GrpcDialogueTest, NoMoreIsSentThanTheWindowHolds) {
  int sent = 0;
  while (!Ask().empty()) ++sent;
  EXPECT_EQ(sent, 65'535 / 16);
  EXPECT_EQ(Hear(Frame(8, 0, 1, "\0\0\0\20"s)).verdict, Verdict::kNone);
  EXPECT_EQ(said_, "") << "that was the window of one stream";
  EXPECT_EQ(Hear(Frame(8, 0, 0, "\0\0\0\1"s)).verdict, Verdict::kNone);
  EXPECT_NE(said_, "");
}

TEST_F(GrpcDialogueTest, PingsAreAnswered) {
  EXPECT_EQ(Hear(Frame(6, 0, 0, "12345678")).verdict, Verdict::kNone);
  EXPECT_EQ(said_, Frame(6, 1, 0, "12345678"));
}

TEST_F(GrpcDialogueTest, AServerThatEndsAStreamOrTheConnectionIsWrong) {
  Ask();
  EXPECT_EQ(Hear(Frame(3, 0, 1, "\0\0\0\7"s)).verdict, Verdict::kWrong);
  EXPECT_EQ(Hear(Frame(7, 0, 0, "\0\0\0\0\0\0\0\0"s)).verdict, Verdict::kWrong);
}

}  // namespace
}  // namespace sluice::bench
