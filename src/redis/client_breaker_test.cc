#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/client.h"
#include "redis/testing/client_fixture.h"
#include "redis/testing/redis_server.h"
#include "redis/testing/tcp_proxy.h"

namespace sluice::redis {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::milliseconds;
using testing::Outcome;
using testing::seconds;
using testing::TcpProxy;
using enum Breaker::State;

class ClientBreakerTest : public testing::ClientTest {
 protected:
  [[nodiscard]] Options WithBreaker() const {
    Options options = server_.ClientOptions();
    options.breaker.enabled = true;
    return options;
  }

  void Listen(Service& service) {
    service.OnBreakerChange([this](const BreakerChange& change) {
      EXPECT_FALSE(change.reason.empty()) << NameOf(change.from) << " to " << NameOf(change.to);
      if (change.from == change.to) return;
      if (change.to == kOpen) why_open_ = change.reason;
      states_.push_back(change.to);
    });
  }

  // Unanswered calls, until one is refused.
  Outcome AskUntilRefused(Client& client) {
    Outcome outcome;
    for (int i = 0; i < 100 && outcome.error.failure != Failure::kBreakerOpen; ++i) {
      outcome = Ask(client, {"PING"}, milliseconds(20));
    }
    return outcome;
  }

  bool AskUntilAnswered(Client& client) {
    for (int i = 0; i < 500; ++i) {
      if (Ask(client, {"PING"}, milliseconds(100)).ok) return true;
      RunFor(milliseconds(10));
    }
    return false;
  }

  testing::RedisServer server_;
  std::vector<Breaker::State> states_;
  std::string why_open_;
};

TEST_F(ClientBreakerTest, CallsFailImmediatelyWhileTheServerIsDownAndRecover) {
  Client client(loop_, WithBreaker());
  Listen(client);
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  server_.Kill();
  const Outcome refused = AskUntilRefused(client);
  EXPECT_EQ(refused.error.failure, Failure::kBreakerOpen);
  EXPECT_EQ(refused.error.ran, Execution::kNotSent);
  EXPECT_THAT(refused.error.message, HasSubstr("left alone"));
  EXPECT_EQ(client.StatsApprox().breakers_open, 1U);
  EXPECT_EQ(client.StatsApprox().breaker_opened, 1U);
  server_.Start();
  ASSERT_TRUE(AskUntilAnswered(client));
  ASSERT_TRUE(AskUntilAnswered(client));
  EXPECT_EQ(client.StatsApprox().breakers_closed, 1U);
  ASSERT_GE(states_.size(), 3U);
  EXPECT_EQ(states_.front(), kOpen);
  EXPECT_EQ(states_.back(), kClosed);
}

TEST_F(ClientBreakerTest, ALateReplyStartsProbingImmediately) {
  Options options = WithBreaker();
  options.stall_timeout = seconds(20);
  options.breaker.pause = seconds(1);
  Client client(loop_, options);
  Listen(client);
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  server_.Freeze();
  EXPECT_EQ(AskUntilRefused(client).error.failure, Failure::kBreakerOpen);
  EXPECT_THAT(why_open_, HasSubstr("no reply before the deadline"));
  server_.Thaw();
  ASSERT_TRUE(RunUntil([&] { return client.StatsApprox().breakers_half_open == 1; }));
  EXPECT_TRUE(Ask(client, {"PING"}).ok);
  EXPECT_TRUE(Ask(client, {"PING"}).ok);
  EXPECT_EQ(client.StatsApprox().breakers_closed, 1U);
  EXPECT_EQ(client.StatsApprox().connects, 1U) << "over the same connection";
}

TEST_F(ClientBreakerTest, ClosesByItselfWithoutCalls) {
  Client client(loop_, WithBreaker());
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  server_.Freeze();
  EXPECT_EQ(AskUntilRefused(client).error.failure, Failure::kBreakerOpen);
  server_.Thaw();
  EXPECT_TRUE(RunUntil([&] { return client.StatsApprox().breakers_closed == 1; }));
}

TEST_F(ClientBreakerTest, OnlyAFewProbesRunAtATime) {
  Options options = WithBreaker();
  options.breaker.pause = Micros{0};
  options.breaker.probes = 2;
  options.stall_timeout = seconds(20);
  Client client(loop_, options);
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  server_.Freeze();
  Send(client, {"PING"}, milliseconds(100));
  WaitForAll();
  RunFor(milliseconds(250));
  Send(client, {"PING"}, milliseconds(100));
  WaitForAll();
  ASSERT_EQ(client.StatsApprox().breakers_open, 1U);
  std::vector<Outcome*> outcomes;
  for (int i = 0; i < 5; ++i) outcomes.push_back(&Send(client, {"PING"}, milliseconds(100)));
  WaitForAll();
  std::vector<Failure> failures;
  for (const Outcome* outcome : outcomes) failures.push_back(outcome->error.failure);
  EXPECT_THAT(failures, ElementsAre(Failure::kTimeout, Failure::kTimeout, Failure::kBreakerOpen,
                                    Failure::kBreakerOpen, Failure::kBreakerOpen));
}

TEST_F(ClientBreakerTest, ShortCallerTimeoutsDoNotOpenIt) {
  Client client(loop_, WithBreaker());
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  server_.Freeze();
  for (int i = 0; i < 20; ++i) Send(client, {"PING"}, Micros{0});
  std::this_thread::sleep_for(milliseconds(20));  // A busy machine: the loop is late.
  WaitForAll();
  EXPECT_EQ(client.StatsApprox().timeouts, 20U);
  EXPECT_EQ(client.StatsApprox().breakers_closed, 1U);
}

TEST_F(ClientBreakerTest, AConnectionThatEndsIsOneFailureHoweverManyCallsWait) {
  TcpProxy proxy(server_.port());
  Options options = WithBreaker();
  options.port = proxy.port();
  Client client(loop_, options);
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  for (int i = 0; i < 100; ++i) Send(client, {"BLPOP", "nothing", "0"});
  RunFor(milliseconds(20));
  proxy.CutAll();
  WaitForAll();
  EXPECT_EQ(client.StatsApprox().lost, 100U);
  EXPECT_EQ(client.StatsApprox().breaker_opened, 0U);
  EXPECT_TRUE(Ask(client, {"PING"}).ok);
}

TEST_F(ClientBreakerTest, CallersDeadlinesCountOnlyIfTheServerAnswersNothingAtAll) {
  Client client(loop_, WithBreaker());
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  Route route{.callers_deadline = true};
  std::string command;
  // Nothing comes for 500 ms, but the caller waits for 100 only.
  resp::AppendCommand(command, {"BLPOP", "nothing", "0.5"});
  const auto miss_a_deadline = [&] {
    bool over = false;
    client.Send(route, command, loop_.Now() + milliseconds(100),
                [&](const Answer& answer) { over = !answer; });
    EXPECT_TRUE(RunUntil([&] { return over; }));
  };
  for (int i = 0; i < 6; ++i) {
    Outcome& other = Send(client, {"PING"});  // Answered right before it.
    miss_a_deadline();
    EXPECT_TRUE(other.ok);
    EXPECT_TRUE(Ask(client, {"PING"}).ok);  // Answered right after it.
  }
  EXPECT_EQ(client.StatsApprox().timeouts, 6U);
  EXPECT_EQ(client.StatsApprox().breaker_opened, 0U);
  server_.Freeze();
  for (int i = 0; i < 100 && client.StatsApprox().breaker_opened == 0; ++i) miss_a_deadline();
  EXPECT_EQ(client.StatsApprox().breaker_opened, 1U);
}

TEST_F(ClientBreakerTest, ErrorsOfAServerThatCannotServeOpenIt) {
  Client client(loop_, WithBreaker());
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  server_.Do("REPLICAOF 127.0.0.1 1");
  for (int i = 0; i < 5; ++i) {
    EXPECT_THAT(Ask(client, {"SET", "key", "value"}).reply, HasSubstr("READONLY"));
  }
  EXPECT_EQ(Ask(client, {"SET", "key", "value"}).error.failure, Failure::kBreakerOpen);
}

TEST_F(ClientBreakerTest, ErrorsAboutACommandDoNot) {
  Client client(loop_, WithBreaker());
  server_.Do("CONFIG SET maxmemory 1");
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(Ask(client, {"SET", "key", "value"}).reply, HasSubstr("OOM"));
  }
  EXPECT_EQ(client.StatsApprox().breakers_closed, 1U);
}

TEST_F(ClientBreakerTest, SlowRepliesOpenItIfAsked) {
  TcpProxy proxy(server_.port());
  Options options = WithBreaker();
  options.port = proxy.port();
  options.breaker.slow = milliseconds(20);
  Client client(loop_, options);
  ASSERT_TRUE(Ask(client, {"PING"}).ok);
  proxy.SetDelay(milliseconds(30));
  for (int i = 0; i < 10 && client.StatsApprox().breaker_opened == 0; ++i) Ask(client, {"PING"});
  EXPECT_EQ(client.StatsApprox().breaker_opened, 1U);
}

}  // namespace
}  // namespace sluice::redis
