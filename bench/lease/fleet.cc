#include "fleet.h"

#include <cstdlib>
#include <string_view>

#include "load/sluice_server.h"

namespace sluice::bench {
namespace {

using redis::testing::RedisCluster;
using redis::testing::RedisServer;

// A number in the reply to INFO; 0 if it is not there.
double InfoOf(const RedisServer& server, const std::string& section, std::string_view field) {
  const resp::Reply reply = server.Do("INFO " + section);
  const std::string info(reply.value().text());
  const std::size_t at = info.find(field);
  return at == std::string::npos ? 0 : std::strtod(info.c_str() + at + field.size(), nullptr);
}

std::uint64_t CallsOf(const RedisServer& server) {
  return static_cast<std::uint64_t>(InfoOf(server, "commandstats", "cmdstat_evalsha:calls="));
}

double CpuOf(const RedisServer& server) {
  return InfoOf(server, "cpu", "used_cpu_sys:") + InfoOf(server, "cpu", "used_cpu_user:");
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

double Redis::CpuSeconds() {
  if (one_) return CpuOf(*one_);
  double sum = 0;
  for (std::size_t i = 0; i < RedisCluster::kPrimaries; ++i) sum += CpuOf(cluster_->node(i));
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
