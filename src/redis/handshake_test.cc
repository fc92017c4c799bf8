#include "redis/handshake.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "resp/decoder.h"

namespace sluice::redis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Command(std::initializer_list<std::string_view> arguments) {
  std::string command;
  resp::AppendCommand(command, arguments);
  return command;
}

constexpr std::string_view kHelloReply = "%1\r\n+proto\r\n:3\r\n";
constexpr std::string_view kUnknown =
    "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'pw' \r\n";

// A server with scripted answers.
class HandshakeTest : public ::testing::Test {
 protected:
  std::string Start() {
    handshake_.emplace(options_, options_.password);
    std::string out;
    handshake_->Start(out);
    return out;
  }

  Handshake::Step Reply(std::string_view bytes) {
    resp::Decoder decoder;
    decoder.Feed(bytes);
    EXPECT_EQ(decoder.Next(), resp::Decoder::Status::kReply);
    sent_.clear();
    return handshake_->OnReply(decoder.reply(), sent_);
  }

  Options options_;
  std::optional<Handshake> handshake_;
  std::string sent_;
};

TEST_F(HandshakeTest, OneCommandIsEnoughForAModernServer) {
  EXPECT_EQ(Start(), Command({"HELLO", "3", "SETNAME", "sluice"}));
  EXPECT_EQ(Reply(kHelloReply), Handshake::Step::kDone);
  EXPECT_EQ(handshake_->protocol(), resp::Protocol::kResp3);
}

TEST_F(HandshakeTest, TheUserIsDefaultUnlessNamed) {
  options_.password = Secret("pw");
  options_.client_name = "";
  EXPECT_EQ(Start(), Command({"HELLO", "3", "AUTH", "default", "pw"}));
  options_.username = "alice";
  EXPECT_EQ(Start(), Command({"HELLO", "3", "AUTH", "alice", "pw"}));
}

TEST_F(HandshakeTest, AnotherDatabaseIsSelected) {
  options_.database = 7;
  Start();
  EXPECT_EQ(Reply(kHelloReply), Handshake::Step::kSend);
  EXPECT_EQ(sent_, Command({"SELECT", "7"}));
  EXPECT_EQ(Reply("+OK\r\n"), Handshake::Step::kDone);
}

TEST_F(HandshakeTest, AServerWithoutHelloIsGreetedInPieces) {
  options_.password = Secret("pw");
  options_.database = 7;
  Start();
  EXPECT_EQ(Reply(kUnknown), Handshake::Step::kSend);
  EXPECT_EQ(sent_, Command({"AUTH", "pw"}));
  EXPECT_EQ(Reply("+OK\r\n"), Handshake::Step::kSend);
  EXPECT_EQ(sent_, Command({"CLIENT", "SETNAME", "sluice"}));
  EXPECT_EQ(Reply("-NOPERM not this one\r\n"), Handshake::Step::kSend) << "a name is no must";
  EXPECT_EQ(sent_, Command({"SELECT", "7"}));
  EXPECT_EQ(Reply("+OK\r\n"), Handshake::Step::kDone);
  EXPECT_EQ(handshake_->protocol(), resp::Protocol::kResp2);
}

TEST_F(HandshakeTest, AServerWithoutResp3IsSpokenToInResp2) {
  options_.username = "alice";
  options_.password = Secret("pw");
  options_.client_name = "";
  Start();
  EXPECT_EQ(Reply("-NOPROTO unsupported protocol version\r\n"), Handshake::Step::kSend);
  EXPECT_EQ(sent_, Command({"AUTH", "alice", "pw"}));
  EXPECT_EQ(Reply("+OK\r\n"), Handshake::Step::kDone);
}

TEST_F(HandshakeTest, TemporaryErrorsAreNotRefusals) {
  options_.database = 7;
  for (const char* const reply :
       {"-LOADING Redis is loading\r\n", "-BUSY Redis is busy\r\n", "-MASTERDOWN no link\r\n"}) {
    Start();
    EXPECT_EQ(Reply(reply), Handshake::Step::kNotNow) << reply;
    Start();
    EXPECT_EQ(Reply(kHelloReply), Handshake::Step::kSend);
    EXPECT_EQ(Reply(reply), Handshake::Step::kNotNow) << reply;
  }
  EXPECT_EQ(handshake_->error(), "Redis is not ready: SELECT: MASTERDOWN no link");
}

TEST_F(HandshakeTest, ARefusalIsReportedWithoutThePassword) {
  options_.password = Secret("pw");
  Start();
  EXPECT_EQ(Reply(kUnknown), Handshake::Step::kSend);
  EXPECT_EQ(Reply("-ERR unknown command `AUTH`, with args beginning with: `pw`, \r\n"),
            Handshake::Step::kRefused);
  EXPECT_THAT(handshake_->error(), HasSubstr("AUTH: ERR unknown command `AUTH`"));
  EXPECT_THAT(handshake_->error(), Not(HasSubstr("pw")));
  Start();
  EXPECT_EQ(Reply("-WRONGPASS the password pw is not it, not at all: pw\r\n"),
            Handshake::Step::kRefused);
  EXPECT_EQ(handshake_->error(),
            "refused by Redis: HELLO: WRONGPASS the password *** is not it, not at all: ***");
}

TEST_F(HandshakeTest, BehindSentinelsTheServerMustConfirmThatItIsThePrimary) {
  options_.topology = Topology::kSentinel;
  options_.database = 2;
  Start();
  EXPECT_EQ(Reply(kHelloReply), Handshake::Step::kSend);
  EXPECT_EQ(sent_, Command({"SELECT", "2"}));
  EXPECT_EQ(Reply("+OK\r\n"), Handshake::Step::kSend);
  EXPECT_EQ(sent_, Command({"ROLE"}));
  EXPECT_EQ(Reply("*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"), Handshake::Step::kDone);
}

TEST_F(HandshakeTest, AReplicaMayBecomeThePrimarySoon) {
  options_.topology = Topology::kSentinel;
  Start();
  Reply(kHelloReply);
  EXPECT_EQ(Reply("*2\r\n$5\r\nslave\r\n$4\r\nhost\r\n"), Handshake::Step::kNotNow);
  EXPECT_THAT(handshake_->error(), HasSubstr("its role is slave"));
}

TEST_F(HandshakeTest, WithoutPermissionForRoleTheLoginFails) {
  options_.topology = Topology::kSentinel;
  Start();
  Reply(kHelloReply);
  EXPECT_EQ(Reply("-NOPERM no permissions to run the 'role' command\r\n"),
            Handshake::Step::kRefused);
  EXPECT_THAT(handshake_->error(), HasSubstr("ROLE: NOPERM"));
}

}  // namespace
}  // namespace sluice::redis
