#include "redis/primary_clients.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"

namespace sluice::redis {
namespace {

constexpr Micros kTimeout = std::chrono::seconds(10);

TEST(PrimaryClientsTest, OneServerIsOnePrimary) {
  const testing::RedisServer server;
  PrimaryClients clients(server.ClientOptions(), kTimeout);
  const auto primaries = clients.List();
  ASSERT_TRUE(primaries) << primaries.error().message;
  ASSERT_EQ(primaries->size(), 1U);
  const auto reply = CallPrimary(primaries->front(), {"ECHO", "hello"}, kTimeout);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->reply().text(), "hello");
}

TEST(PrimaryClientsTest, EachPrimaryOfAClusterIsAskedByItself) {
  testing::RedisCluster cluster(testing::RedisCluster::Replicas::kNone);
  PrimaryClients clients(cluster.ClientOptions(), kTimeout);
  const auto primaries = clients.List();
  ASSERT_TRUE(primaries) << primaries.error().message;
  ASSERT_EQ(primaries->size(), testing::RedisCluster::kPrimaries);
  std::set<std::string> ids;
  for (const PrimaryClients::Primary& primary : *primaries) {
    const auto reply = CallPrimary(primary, {"CLUSTER", "MYID"}, kTimeout);
    ASSERT_TRUE(reply) << reply.error().message;
    ids.insert(std::string(reply->reply().text()));
  }
  EXPECT_EQ(ids.size(), testing::RedisCluster::kPrimaries);
}

TEST(PrimaryClientsTest, AnErrorReplyIsAnErrorThatNamesTheServer) {
  const testing::RedisServer server;
  PrimaryClients clients(server.ClientOptions(), kTimeout);
  const auto primaries = clients.List();
  ASSERT_TRUE(primaries);
  const auto reply = CallPrimary(primaries->front(), {"NOSUCHCOMMAND"}, kTimeout);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::kStoreError);
  EXPECT_NE(reply.error().message.find(primaries->front().name), std::string::npos);
}

}  // namespace
}  // namespace sluice::redis
