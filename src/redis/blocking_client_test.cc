#include "redis/blocking_client.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"
#include "resp/encoder.h"

namespace sluice::redis {
namespace {

std::string Command(std::initializer_list<std::string_view> arguments) {
  std::string command;
  resp::AppendCommand(command, arguments);
  return command;
}

TEST(BlockingClientTest, ItReturnsTheReply) {
  const testing::RedisServer server;
  BlockingClient client(server.ClientOptions());
  const CallResult result = client.Call(Command({"ECHO", "hello"}), std::chrono::seconds(10));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result.reply().text(), "hello");
}

TEST(BlockingClientTest, ItReturnsTheErrorOfACall) {
  Options options;
  options.port = testing::FreePort();
  BlockingClient client(options);
  const CallResult result = client.Call(Command({"PING"}), std::chrono::milliseconds(20));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().failure, Failure::kNotConnected);
}

TEST(BlockingClientTest, ItFollowsTheSlotsOfACluster) {
  testing::RedisCluster cluster(testing::RedisCluster::Replicas::kNone);
  BlockingClient client(cluster.ClientOptions());
  for (const std::string key : {"a", "b", "c", "d", "e"}) {
    const CallResult result =
        client.Call(Command({"SET", key, "1"}), std::chrono::seconds(10), key);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result.reply().text(), "OK") << Describe(result.reply());
  }
}

TEST(BlockingClientTest, ItWaitsForAServerThatIsReadOnlyForAMoment) {
  const testing::RedisServer server;
  BlockingClient client(server.ClientOptions());
  server.Do("REPLICAOF 127.0.0.1 1");
  const CallResult refused = client.Call(Command({"SET", "k", "v"}), std::chrono::milliseconds(50));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused.reply().error_code(), "READONLY");
  std::thread promote([&] { server.Do("REPLICAOF NO ONE"); });
  const CallResult result = client.Call(Command({"SET", "k", "v"}), std::chrono::seconds(10));
  promote.join();
  ASSERT_TRUE(result);
  EXPECT_EQ(result.reply().text(), "OK");
}

TEST(BlockingClientTest, ThreadsShareOneConnection) {
  testing::RedisServer server;
  BlockingClient client(server.ClientOptions());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&client] {
      for (int call = 0; call < 250; ++call) {
        ASSERT_TRUE(client.Call(Command({"INCR", "n"}), std::chrono::seconds(10)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Describe(server.Do("GET n").value()), "\"1000\"");
  EXPECT_EQ(client.StatsApprox().connects, 1U);
}

}  // namespace
}  // namespace sluice::redis
