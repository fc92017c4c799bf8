#include "fleet.h"

#include <cstdlib>
#include <string_view>

#include "load/sluice_server.h"

namespace sluice::bench {
namespace {

using redis::testing::RedisCluster;
using redis::testing::RedisServer;

std::uint64_t CallsOf(const RedisServer& server) {
  const resp::Reply reply = server.Do("INFO commandstats");
  const std::string info(reply.value().text());
  constexpr std::string_view kField = "cmdstat_evalsha:calls=";
  const std::size_t at = info.find(kField);
  if (at == std::string::npos) return 0;
  return std::strtoull(info.c_str() + at + kField.size(), nullptr, 10);
}

}  // namespace

Redis::Redis(Kind kind) {
  if (kind == Kind::kOne) {
    one_ = std::make_unique<RedisServer>();
  } else {
    cluster_ = std::make_unique<RedisCluster>(RedisCluster::Replicas::kNone);
    cluster_->AwaitHealthy();
  }
}

std::string Redis::Url() const {
  return one_ ? "redis://127.0.0.1:" + std::to_string(one_->port()) : cluster_->Url();
}

std::uint64_t Redis::Calls() {
  if (one_) return CallsOf(*one_);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < RedisCluster::kPrimaries; ++i) sum += CallsOf(cluster_->node(i));
  return sum;
}

Fleet::Fleet(std::size_t nodes, const std::string& store, const std::string& rules,
             const Cores& cores) {
  for (std::size_t i = 0; i < nodes; ++i) {
    nodes_.emplace_back(new Process(
        StartSluiceOn(store, rules, "--resp", 1, folder_, cores, {"--store-deadline", "2s"})));
  }
}

std::vector<std::uint16_t> Fleet::Ports() const {
  std::vector<std::uint16_t> ports;
  for (const auto& node : nodes_) ports.push_back(node->port());
  return ports;
}

}  // namespace sluice::bench
