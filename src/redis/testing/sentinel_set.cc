#include "redis/testing/sentinel_set.h"

#include "redis/testing/await.h"

namespace sluice::redis::testing {
namespace {

constexpr std::size_t kSentinels = 3;

std::string IdOf(std::size_t sentinel) {
  return std::string(40, static_cast<char>('a' + sentinel));
}

}  // namespace

SentinelSet::SentinelSet(const std::vector<std::string>& server_config,
                         const std::vector<std::string>& sentinel_config) {
  std::vector<std::string> config = server_config;
  config.emplace_back("repl-diskless-sync-delay 0");
  servers_.push_back(std::make_unique<RedisServer>(RedisServerOptions{.config = config}));
  const std::string primary = "127.0.0.1 " + std::to_string(servers_[0]->port());
  config.push_back("replicaof " + primary);
  servers_.push_back(std::make_unique<RedisServer>(RedisServerOptions{.config = config}));

  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < kSentinels; ++i) ports.push_back(FreePort());
  const std::string name = std::string(kName) + " ";
  const std::string monitor = "sentinel monitor " + name + primary + " 2";
  for (std::size_t i = 0; i < kSentinels; ++i) {
    // What they would find out by themselves, after some seconds.
    std::vector<std::string> lines = {
        "sentinel myid " + IdOf(i), monitor, "sentinel down-after-milliseconds " + name + "500",
        "sentinel failover-timeout " + name + "2000",
        "sentinel known-replica " + name + "127.0.0.1 " + std::to_string(servers_[1]->port())};
    for (std::size_t other = 0; other < kSentinels; ++other) {
      if (other == i) continue;
      lines.push_back("sentinel known-sentinel " + name + "127.0.0.1 " +
                      std::to_string(ports[other]) + " " + IdOf(other));
    }
    lines.insert(lines.end(), sentinel_config.begin(), sentinel_config.end());
    sentinels_.push_back(std::make_unique<RedisServer>(
        RedisServerOptions{.config = lines, .sentinel = true, .port = ports[i]}));
  }
}

Options SentinelSet::ClientOptions() const {
  Options options;
  options.topology = Topology::kSentinel;
  options.sentinel.name = kName;
  for (const auto& sentinel : sentinels_) options.seeds.push_back({"127.0.0.1", sentinel->port()});
  options.breaker.enabled = false;  // Tests of it switch it on.
  return options;
}

std::string SentinelSet::Url() const {
  std::string url = "redis-sentinel://" + std::string(kName) + "@";
  for (std::size_t i = 0; i < sentinels_.size(); ++i) {
    url += (i == 0 ? "" : ",") + std::string("127.0.0.1:") + std::to_string(sentinels_[i]->port());
  }
  return url;
}

std::size_t SentinelSet::Primary() const {
  const resp::Reply reply =
      sentinels_.back()->Do("SENTINEL GET-MASTER-ADDR-BY-NAME " + std::string(kName));
  const bool first = reply.value().size() == 2 &&
                     reply.value().at(1).text() == std::to_string(servers_[0]->port());
  return first ? 0 : 1;
}

void SentinelSet::AwaitHealthy() const {
  const std::string replicas = "SENTINEL REPLICAS " + std::string(kName);
  Await("the replica is in step",
        [&] { return servers_[1 - Primary()]->Says("INFO replication", "master_link_status:up"); });
  // Until then there is no replica to promote.
  Await("the sentinels know the replica", [&] {
    for (const auto& sentinel : sentinels_) {
      const resp::Reply reply = sentinel->Do(replicas);
      if (reply.value().size() != 1) return false;
      if (Describe(reply.value()).find("s_down") != std::string::npos) return false;
      bool linked = false;
      const resp::Value fields = reply.value().at(0);
      for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
        linked |= fields.at(i).text() == "master-link-status" && fields.at(i + 1).text() == "ok";
      }
      if (!linked) return false;
    }
    return true;
  });
}

void SentinelSet::Failover() const {
  const std::size_t before = Primary();
  Await("the sentinels agree to it",
        [&] { return sentinels_.front()->Says("SENTINEL FAILOVER " + std::string(kName), "OK"); });
  Await("another is the primary", [&] { return Primary() != before; });
}

}  // namespace sluice::redis::testing
