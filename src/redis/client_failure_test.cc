#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/client.h"
#include "redis/testing/client_fixture.h"
#include "redis/testing/redis_server.h"
#include "redis/testing/tcp_proxy.h"

namespace sluice::redis {
namespace {

using ::testing::HasSubstr;
using testing::milliseconds;
using testing::Outcome;
using testing::seconds;
using testing::TcpProxy;

class ClientFailureTest : public testing::ClientTest {
 protected:
  [[nodiscard]] Options ThroughProxy(const TcpProxy& proxy) const {
    Options options = server_.ClientOptions();
    options.port = proxy.port();
    return options;
  }

  testing::RedisServer server_;
};

TEST_F(ClientFailureTest, WithoutAServerCallsWaitForTheirDeadline) {
  Options options = server_.ClientOptions();
  server_.Kill();
  Client client(loop_, options);
  const SteadyTime before = SteadyClock::Now();
  const Outcome outcome = Ask(client, {"PING"}, milliseconds(50));
  const Micros waited = SteadyClock::Now() - before;
  EXPECT_EQ(outcome.error.failure, Failure::kNotConnected);
  EXPECT_EQ(outcome.error.ran, Execution::kNotSent);
  EXPECT_THAT(outcome.error.message, HasSubstr("Connection refused"));
  EXPECT_GE(waited, milliseconds(50));
  EXPECT_LT(waited, seconds(5));
}

TEST_F(ClientFailureTest, ACallWaitsForAServerThatComesInTime) {
  server_.Kill();
  Client client(loop_, server_.ClientOptions());
  Outcome& outcome = Send(client, {"PING"});
  RunFor(milliseconds(30));
  EXPECT_EQ(outcome.times, 0);
  server_.Start();
  WaitForAll();
  EXPECT_EQ(outcome.reply, "\"PONG\"");
}

TEST_F(ClientFailureTest, AKilledServerIsFoundAgainWhenItIsBack) {
  Client client(loop_, server_.ClientOptions());
  EXPECT_EQ(Ask(client, {"INCR", "n"}).reply, "1");
  Outcome& under_way = Send(client, {"BLPOP", "nothing", "0"});
  RunFor(milliseconds(20));
  server_.Kill();
  WaitForAll();
  EXPECT_EQ(under_way.error.failure, Failure::kConnectionLost);
  EXPECT_EQ(under_way.error.ran, Execution::kUnknown);
  server_.Start();
  EXPECT_EQ(Ask(client, {"INCR", "n"}).reply, "1") << "of the new server";
  EXPECT_EQ(client.StatsApprox().connects, 2U);
  EXPECT_EQ(client.StatsApprox().disconnects, 1U);
  EXPECT_EQ(client.StatsApprox().lost, 1U);
}

TEST_F(ClientFailureTest, ALateReplyIsNotMatchedToAnotherCall) {
  Options options = server_.ClientOptions();
  options.stall_timeout = seconds(20);
  Client client(loop_, options);
  Ask(client, {"PING"});
  server_.Freeze();
  Outcome& late = Send(client, {"ECHO", "late"}, milliseconds(200));
  ASSERT_TRUE(RunUntil([&] { return late.times > 0; }));
  EXPECT_EQ(late.error.failure, Failure::kTimeout);
  EXPECT_EQ(late.error.ran, Execution::kUnknown);
  Outcome& next = Send(client, {"ECHO", "next"});
  RunFor(milliseconds(10));
  server_.Thaw();
  WaitForAll();
  EXPECT_EQ(next.reply, "\"next\"");
  EXPECT_EQ(late.times, 1);
  EXPECT_EQ(client.StatsApprox().late_replies, 1U);
  EXPECT_EQ(client.StatsApprox().connects, 1U) << "the connection was kept";
}

TEST_F(ClientFailureTest, ASilentServerIsDisconnectedAndReconnected) {
  Options options = server_.ClientOptions();
  options.stall_timeout = milliseconds(100);
  options.connect_timeout = milliseconds(100);
  Client client(loop_, options);
  Ask(client, {"PING"});
  server_.Freeze();
  Send(client, {"PING"}, milliseconds(200));
  ASSERT_TRUE(RunUntil([&] { return client.StatsApprox().disconnects == 1; }));
  const Outcome waiting = Ask(client, {"PING"}, milliseconds(400));
  EXPECT_EQ(waiting.error.failure, Failure::kNotConnected);
  EXPECT_EQ(waiting.error.ran, Execution::kNotSent);
  EXPECT_THAT(waiting.error.message, HasSubstr("no answer within connect_timeout"));
  server_.Thaw();
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"");
}

TEST_F(ClientFailureTest, ABlockedCommandDoesNotCountAsStalledBeforeItsDeadline) {
  Options options = server_.ClientOptions();
  options.stall_timeout = milliseconds(20);
  Client client(loop_, options);
  Outcome& blocked = Send(client, {"BLPOP", "list", "0"});
  RunFor(milliseconds(100));
  server_.Do("RPUSH list x");
  WaitForAll();
  EXPECT_EQ(blocked.reply, "[\"list\", \"x\"]");
}

TEST_F(ClientFailureTest, ADeadlineThatHasPassedIsNotSent) {
  Client client(loop_, server_.ClientOptions());
  Ask(client, {"PING"});
  Outcome& past = Send(client, {"INCR", "n"}, Micros{0});
  EXPECT_EQ(past.times, 0) << "never inside Send";
  WaitForAll();
  EXPECT_EQ(past.error.failure, Failure::kTimeout);
  EXPECT_EQ(past.error.ran, Execution::kNotSent);
  EXPECT_EQ(Ask(client, {"GET", "n"}).reply, "null");
}

TEST_F(ClientFailureTest, TooManyCallsAreRejected) {
  Options options = server_.ClientOptions();
  options.max_queued = 10;
  server_.Kill();
  Client client(loop_, options);
  for (int i = 0; i < 10; ++i) Send(client, {"PING"});
  Outcome& too_many = Send(client, {"PING"});
  EXPECT_EQ(too_many.times, 0) << "never inside Send";
  ASSERT_TRUE(RunUntil([&] { return too_many.times > 0; }));
  EXPECT_EQ(too_many.error.failure, Failure::kQueueFull);
  EXPECT_EQ(too_many.error.ran, Execution::kNotSent);
  server_.Start();
  WaitForAll();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcomes_[static_cast<std::size_t>(i)].reply, "\"PONG\"");
}

TEST_F(ClientFailureTest, TooManyBytesAreRejected) {
  Options options = server_.ClientOptions();
  options.max_queued_bytes = 1000;
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"ECHO", std::string(1000, 'x')}).error.failure, Failure::kQueueFull);
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"");
}

TEST_F(ClientFailureTest, ASlowNetworkOnlyDelays) {
  TcpProxy proxy(server_.port());
  Client client(loop_, ThroughProxy(proxy));
  Ask(client, {"PING"});
  proxy.SetDelay(milliseconds(40));
  const SteadyTime before = SteadyClock::Now();
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"");
  EXPECT_GE(SteadyClock::Now() - before, milliseconds(80));
}

TEST_F(ClientFailureTest, AStalledConnectionIsReplaced) {
  TcpProxy proxy(server_.port());
  Options options = ThroughProxy(proxy);
  options.stall_timeout = milliseconds(60);
  Client client(loop_, options);
  Ask(client, {"PING"});
  proxy.SwallowAll();
  const Outcome lost = Ask(client, {"INCR", "n"}, milliseconds(200));
  EXPECT_EQ(lost.error.ran, Execution::kUnknown);
  EXPECT_TRUE(RunUntil([&] { return client.StatsApprox().disconnects == 1; }));
  proxy.BeTransparent();
  EXPECT_EQ(Ask(client, {"GET", "n"}).reply, "null");
  EXPECT_GE(proxy.accepted(), 2);
}

// Cuts the first connection after `bytes`, and holds every answer against what Redis has really
// done.
class ClientCutTest : public ClientFailureTest {
 protected:
  static constexpr int kCalls = 24;

  // How many calls lost their answer.
  int RunWithCut(TcpProxy& proxy, TcpProxy::Direction direction, std::size_t bytes) {
    proxy.CutNextAfter(direction, bytes);
    server_.Do("FLUSHALL");
    outcomes_.clear();
    answered_ = 0;
    Client client(loop_, ThroughProxy(proxy));
    // In several turns, so that some calls find the connection lost.
    for (int i = 0; i < kCalls; ++i) {
      Send(client, {"INCR", "key" + std::to_string(i)});
      if (i % 8 == 7) RunFor(milliseconds(1));
    }
    WaitForAll();
    int lost = 0;
    for (int i = 0; i < kCalls; ++i) {
      const Outcome& outcome = outcomes_[static_cast<std::size_t>(i)];
      const std::string really = Describe(server_.Do("GET key" + std::to_string(i)).value());
      EXPECT_EQ(outcome.times, 1);
      if (outcome.ok) {
        EXPECT_EQ(outcome.reply, "1");
        EXPECT_EQ(really, "\"1\"") << "call " << i << ", cut after " << bytes;
      } else {
        ++lost;
        EXPECT_EQ(outcome.error.failure, Failure::kConnectionLost) << outcome.error.message;
        EXPECT_EQ(outcome.error.ran, Execution::kUnknown);
        EXPECT_TRUE(really == "null" || really == "\"1\"") << really << " cut after " << bytes;
      }
    }
    return lost;
  }
};

TEST_F(ClientCutTest, WhereverCommandsAreCutNoResultIsWrong) {
  TcpProxy proxy(server_.port());
  int lost = 0;
  for (std::size_t bytes = 0; bytes < 800; bytes += 13) {
    lost += RunWithCut(proxy, TcpProxy::Direction::kToServer, bytes);
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0);
}

TEST_F(ClientCutTest, WhereverRepliesAreCutNoResultIsWrong) {
  TcpProxy proxy(server_.port());
  int lost = 0;
  for (std::size_t bytes = 0; bytes < 240; bytes += 3) {
    lost += RunWithCut(proxy, TcpProxy::Direction::kToClient, bytes);
    if (HasFailure()) return;
  }
  EXPECT_GT(lost, 0);
}

}  // namespace
}  // namespace sluice::redis
