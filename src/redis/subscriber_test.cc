#include "redis/subscriber.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/testing/client_fixture.h"
#include "redis/testing/redis_server.h"

namespace sluice::redis::testing {
namespace {

using ::testing::ElementsAre;

class SubscriberTest : public ClientTest {
 protected:
  const std::array<std::string, 2> channels_ = {"news", "weather"};
  std::vector<std::string> heard_;
  int subscribed_ = 0;

  Subscriber::Events Events() {
    return {.on_message =
                [this](std::string_view channel, std::string_view message) {
                  heard_.push_back(std::string(channel) + ": " + std::string(message));
                },
            .on_subscribed = [this] { ++subscribed_; }};
  }

  bool RunUntilSubscribed(int times) {
    return RunUntil([&] { return subscribed_ >= times; });
  }
};

TEST_F(SubscriberTest, ReceivesMessagesOfItsChannels) {
  const RedisServer server;
  Subscriber subscriber(loop_, server.ClientOptions(), channels_, Events());
  subscriber.Start();
  ASSERT_TRUE(RunUntilSubscribed(2));
  server.Do("PUBLISH other nothing");
  server.Do("PUBLISH weather rain");
  server.Do("PUBLISH news \"good news\"");
  ASSERT_TRUE(RunUntil([&] { return heard_.size() == 2; }));
  EXPECT_THAT(heard_, ElementsAre("weather: rain", "news: good news"));
}

TEST_F(SubscriberTest, ReceivesMessagesInResp2) {
  const RedisServer server({.config = {"rename-command HELLO \"\""}});
  Subscriber subscriber(loop_, server.ClientOptions(), channels_, Events());
  subscriber.Start();
  ASSERT_TRUE(RunUntilSubscribed(2));
  server.Do("PUBLISH weather rain");
  ASSERT_TRUE(RunUntil([&] { return heard_.size() == 1; }));
  EXPECT_EQ(subscriber.client().protocol(), resp::Protocol::kResp2);
}

TEST_F(SubscriberTest, SubscribesAgainAfterTheConnectionWasLost) {
  RedisServer server;
  Subscriber subscriber(loop_, server.ClientOptions(), channels_, Events());
  subscriber.Start();
  ASSERT_TRUE(RunUntilSubscribed(2));
  server.Kill();
  ASSERT_TRUE(RunUntil([&] { return subscriber.client().state() != State::kReady; }));
  server.Start();
  ASSERT_TRUE(RunUntilSubscribed(4));
  server.Do("PUBLISH news again");
  ASSERT_TRUE(RunUntil([&] { return !heard_.empty(); }));
}

TEST_F(SubscriberTest, ReportsASubscriptionThatRedisRefuses) {
  for (const char* hello : {"+hello", "-hello"}) {
    const RedisServer server(
        {.config = {std::string("user mute on >pw ~* +@all -subscribe ") + hello}});
    redis::Options options = server.ClientOptions();
    options.username = "mute";
    options.password = Secret("pw");
    std::string refused;
    Subscriber::Events events = Events();
    events.on_refused = [&](std::string_view error) { refused = error; };
    Subscriber subscriber(loop_, options, channels_, events);
    subscriber.Start();
    ASSERT_TRUE(RunUntil([&] { return !refused.empty(); }));
    EXPECT_TRUE(refused.starts_with("NOPERM")) << refused;
  }
}

TEST_F(SubscriberTest, DisconnectsASilentServer) {
  const RedisServer server;
  Options options = server.ClientOptions();
  options.stall_timeout = milliseconds(100);
  Subscriber subscriber(loop_, options, channels_, Events());
  subscriber.Start();
  ASSERT_TRUE(RunUntilSubscribed(2));
  server.Freeze();
  EXPECT_TRUE(RunUntil([&] { return subscriber.client().state() != State::kReady; }));
  server.Thaw();
  EXPECT_TRUE(RunUntilSubscribed(4));
}

}  // namespace
}  // namespace sluice::redis::testing
