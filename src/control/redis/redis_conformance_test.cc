#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "control/redis/redis_control_store.h"
#include "control/testing/conformance.h"
#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"
#include "redis/testing/sentinel_set.h"

namespace sluice::control {
namespace {

using redis::testing::RedisCluster;
using redis::testing::RedisServer;
using redis::testing::SentinelSet;
using testing::ConformanceCase;

/// Several processes of one fleet.
class RedisStores final : public testing::ControlStores {
 public:
  RedisStores(const redis::Options& redis, std::string name)
      : options_{.redis = redis, .name = std::move(name), .timeout = std::chrono::seconds(10)} {
    Reopen();
  }

  ControlStore& client(std::size_t index) override { return *clients_[index]; }
  void Reopen() override {
    clients_.clear();
    while (clients_.size() < kClients) {
      clients_.push_back(std::make_unique<RedisControlStore>(options_));
    }
  }

 private:
  const RedisControlOptions options_;
  std::vector<std::unique_ptr<RedisControlStore>> clients_;
};

/// One server for all cases: each is a fleet of its own.
class RedisControlStoreConforms : public ::testing::TestWithParam<ConformanceCase> {
 protected:
  static void SetUpTestSuite() { server_ = new RedisServer; }
  static void TearDownTestSuite() { delete std::exchange(server_, nullptr); }

  static inline RedisServer* server_ = nullptr;
};

TEST_P(RedisControlStoreConforms, To) {
  RedisStores stores(server_->ClientOptions(), GetParam().name);
  GetParam().run(stores);
}

INSTANTIATE_TEST_SUITE_P(All, RedisControlStoreConforms,
                         ::testing::ValuesIn(testing::ConformanceCases()), testing::NameOfCase);

void RunAll(const redis::Options& options) {
  for (const ConformanceCase& conformance : testing::ConformanceCases()) {
    SCOPED_TRACE(conformance.name);
    if (conformance.is_heavy) continue;  // It would be a failover.
    RedisStores stores(options, conformance.name);
    conformance.run(stores);
  }
}

TEST(RedisControlTopologies, AStoreBehindSentinelsConforms) {
  const SentinelSet sentinels;
  RunAll(sentinels.ClientOptions());
}

TEST(RedisControlTopologies, AStoreInAClusterConforms) {
  const RedisCluster cluster(RedisCluster::Replicas::kNone);
  RunAll(cluster.ClientOptions());
}

TEST(RedisControlTopologies, FleetsWithDifferentNamesShareNothing) {
  const RedisServer server;
  RedisControlStore first({.redis = server.ClientOptions(), .name = "first"});
  RedisControlStore second({.redis = server.ClientOptions(), .name = "second"});
  testing::CommitText(first, "one");
  ASSERT_TRUE(first.WriteNode({.id = "a"}));
  EXPECT_EQ(*second.ReadCurrent(), std::nullopt);
  EXPECT_TRUE(second.ListNodes()->empty());
  EXPECT_TRUE(second.ReadAudit(0, 10)->empty());
}

}  // namespace
}  // namespace sluice::control
