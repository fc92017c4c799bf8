#include "redis/client.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/testing/client_fixture.h"
#include "redis/testing/redis_server.h"

namespace sluice::redis {
namespace {

using ::testing::HasSubstr;
using testing::milliseconds;
using testing::Outcome;
using testing::seconds;

class ClientTest : public testing::ClientTest {
 protected:
  testing::RedisServer server_;
};

TEST_F(ClientTest, ItConnectsOnFirstUse) {
  Client client(loop_, server_.ClientOptions());
  RunFor(milliseconds(20));
  EXPECT_EQ(client.state(), State::kIdle);
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"");
  EXPECT_EQ(client.state(), State::kReady);
  EXPECT_EQ(client.protocol(), resp::Protocol::kResp3);
}

TEST_F(ClientTest, ItConnectsWhenAsked) {
  Client client(loop_, server_.ClientOptions());
  client.Connect();
  EXPECT_TRUE(RunUntilReady(client));
  EXPECT_THAT(Describe(server_.Do("CLIENT LIST").value()), HasSubstr("name=sluice"));
}

TEST_F(ClientTest, ThousandsOfCallsAreAnsweredInOrder) {
  Client client(loop_, server_.ClientOptions());
  std::vector<int> order;
  constexpr int kCalls = 20'000;
  for (int i = 0; i < kCalls; ++i) {
    std::string command;
    resp::AppendCommand(command, {"ECHO", std::to_string(i)});
    client.Send(command, loop_.Now() + seconds(10), [&order, i](const Answer& answer) {
      ASSERT_TRUE(answer) << answer.error().message;
      EXPECT_EQ(answer.reply().text(), std::to_string(i));
      order.push_back(i);
    });
  }
  ASSERT_TRUE(RunUntil([&] { return order.size() == kCalls; }));
  for (int i = 0; i < kCalls; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(client.StatsApprox().replies, std::uint64_t{kCalls});
}

TEST_F(ClientTest, CommandsOfOneTurnAreSentInOneWrite) {
  Client client(loop_, server_.ClientOptions());
  client.Connect();
  ASSERT_TRUE(RunUntilReady(client));
  const auto before = client.StatsApprox().writes;
  for (int i = 0; i < 1000; ++i) Send(client, {"INCR", "n"});
  WaitForAll();
  EXPECT_EQ(client.StatsApprox().writes - before, 1U);
  EXPECT_EQ(outcomes_.back().reply, "1000");
}

TEST_F(ClientTest, HandlersMaySendAgain) {
  Client client(loop_, server_.ClientOptions());
  int done = 0;
  std::string command;
  resp::AppendCommand(command, {"PING"});
  std::function<void(const Answer&)> again = [&](const Answer& answer) {
    ASSERT_TRUE(answer);
    if (++done < 100) client.Send(command, loop_.Now() + seconds(10), again);
  };
  client.Send(command, loop_.Now() + seconds(10), again);
  EXPECT_EQ(done, 0) << "never inside Send";
  EXPECT_TRUE(RunUntil([&] { return done == 100; }));
}

TEST_F(ClientTest, ErrorRepliesArePassedUpWithTheirCode) {
  Client client(loop_, server_.ClientOptions());
  const Outcome outcome = Ask(client, {"EVALSHA", std::string(40, '0'), "0"});
  EXPECT_TRUE(outcome.ok);
  EXPECT_THAT(outcome.reply, HasSubstr("error(NOSCRIPT"));
}

TEST_F(ClientTest, ALargeReplyAndALargeCommandPass) {
  Client client(loop_, server_.ClientOptions());
  const std::string value(5'000'000, 'v');
  EXPECT_EQ(Ask(client, {"SET", "large", value}).reply, "\"OK\"");
  EXPECT_EQ(Ask(client, {"STRLEN", "large"}).reply, "5000000");
  EXPECT_THAT(Ask(client, {"GET", "large"}).reply, HasSubstr("vvvvv"));
}

TEST_F(ClientTest, AReplyAboveTheBoundEndsTheConnection) {
  Options options = server_.ClientOptions();
  options.max_reply_bytes = 1000;
  Client client(loop_, options);
  Ask(client, {"SET", "large", std::string(2000, 'v')});
  const Outcome outcome = Ask(client, {"GET", "large"});
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.error.failure, Failure::kProtocol);
  EXPECT_EQ(outcome.error.ran, Execution::kUnknown);
  EXPECT_EQ(Ask(client, {"STRLEN", "large"}).reply, "2000") << "and it heals";
}

TEST_F(ClientTest, AUnixSocketWorks) {
  Options options;
  options.unix_socket = server_.unix_socket();
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"");
}

TEST_F(ClientTest, AHostNameIsResolved) {
  Options options = server_.ClientOptions();
  options.host = "localhost";
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"");
}

TEST_F(ClientTest, PushMessagesGoToTheirHandler) {
  Client client(loop_, server_.ClientOptions());
  std::vector<std::string> pushes;
  client.OnPush([&](resp::Value push) { pushes.push_back(Describe(push)); });
  EXPECT_EQ(Ask(client, {"CLIENT", "TRACKING", "ON", "BCAST"}).reply, "\"OK\"");
  server_.Do("SET watched 1");
  ASSERT_TRUE(RunUntil([&] { return !pushes.empty(); }));
  EXPECT_EQ(pushes[0], "push[\"invalidate\", [\"watched\"]]");
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"") << "replies are not confused by it";
}

TEST_F(ClientTest, ClosingCompletesPendingCalls) {
  Client client(loop_, server_.ClientOptions());
  Ask(client, {"PING"});
  Outcome& under_way = Send(client, {"BLPOP", "nothing", "0"});
  RunFor(milliseconds(20));
  Outcome& waiting = Send(client, {"PING"});
  client.Close();
  EXPECT_EQ(under_way.error.failure, Failure::kClosed);
  EXPECT_EQ(under_way.error.ran, Execution::kUnknown);
  EXPECT_EQ(waiting.error.failure, Failure::kClosed);
  EXPECT_EQ(waiting.error.ran, Execution::kNotSent);
  EXPECT_EQ(Ask(client, {"PING"}).error.failure, Failure::kClosed);
  EXPECT_EQ(client.state(), State::kClosed);
}

TEST_F(ClientTest, ClosingCompletesRejectedCalls) {
  Options options = server_.ClientOptions();
  options.max_queued = 0;
  Client client(loop_, options);
  Outcome& rejected = Send(client, {"PING"});
  EXPECT_EQ(rejected.times, 0) << "handlers never run inside Send";
  client.Close();
  EXPECT_EQ(rejected.times, 1);
  EXPECT_EQ(rejected.error.failure, Failure::kQueueFull);
  RunFor(milliseconds(1));
  EXPECT_EQ(rejected.times, 1);
}

TEST_F(ClientTest, WhatWasAnsweredIsNoLongerInFlight) {
  Client client(loop_, server_.ClientOptions());
  for (int i = 0; i < 3; ++i) Send(client, {"PING"});
  WaitForAll();
  EXPECT_EQ(client.StatsApprox().in_flight, 0U);
  EXPECT_EQ(client.StatsApprox().queued, 0U);
}

TEST_F(ClientTest, AHandlerMayCloseTheClient) {
  Client client(loop_, server_.ClientOptions());
  std::string command;
  resp::AppendCommand(command, {"PING"});
  client.Send(command, loop_.Now() + seconds(10), [&](const Answer& answer) {
    EXPECT_TRUE(answer);
    client.Close();
  });
  Outcome& behind = Send(client, {"PING"});
  WaitForAll();
  EXPECT_EQ(behind.times, 1);
  EXPECT_EQ(behind.error.failure, Failure::kClosed);
  EXPECT_EQ(behind.error.ran, Execution::kUnknown);
}

TEST_F(ClientTest, DestructionCompletesPendingCalls) {
  std::optional<Client> client(std::in_place, loop_, server_.ClientOptions());
  Ask(*client, {"PING"});
  Outcome& pending = Send(*client, {"PING"});
  client.reset();
  EXPECT_EQ(pending.times, 1);
  EXPECT_EQ(pending.error.failure, Failure::kClosed);
}

}  // namespace
}  // namespace sluice::redis
