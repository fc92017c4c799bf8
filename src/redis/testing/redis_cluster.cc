#include "redis/testing/redis_cluster.h"

#include <stdexcept>
#include <utility>

#include "base/clock.h"
#include "redis/slot.h"
#include "redis/testing/await.h"

namespace sluice::redis::testing {
namespace {

void Expect(const RedisServer& server, const std::string& command) {
  const resp::Reply reply = server.Do(command);
  if (reply.value().is_error()) {
    throw std::runtime_error(command + ": " + Describe(reply.value()));
  }
}

}  // namespace

RedisCluster::RedisCluster(Replicas replicas, std::vector<std::string> config)
    : config_(std::move(config)),
      count_(replicas == Replicas::kNone ? kPrimaries : 2 * kPrimaries) {
  for (std::size_t i = 0; i < count_; ++i) {
    ports_.push_back(FreePort());
    bus_ports_.push_back(FreePort());
    ids_.emplace_back(40, static_cast<char>('a' + i));
  }
  for (std::size_t i = 0; i < count_; ++i) {
    std::string known;
    for (std::size_t other = 0; other < count_; ++other) known += LineOf(other, i);
    StartNode(known + "vars currentEpoch 3 lastVoteEpoch 0\n");
  }
  AwaitHealthy();
}

// What nodes.conf says of a node: they need not get to know each other.
std::string RedisCluster::LineOf(std::size_t index, std::size_t reader) const {
  std::string line = ids_[index] + " 127.0.0.1:" + std::to_string(ports_[index]) + "@" +
                     std::to_string(bus_ports_[index]) + (index == reader ? " myself," : " ");
  const std::size_t primary = index % kPrimaries;
  const std::string epoch = std::to_string(primary + 1);
  if (index >= kPrimaries)
    return line + "slave " + ids_[primary] + " 0 0 " + epoch + " connected\n";
  const std::size_t first = primary * kSlots / kPrimaries;
  const std::size_t last = (primary + 1) * kSlots / kPrimaries - 1;
  return line + "master - 0 0 " + epoch + " connected " + std::to_string(first) + "-" +
         std::to_string(last) + "\n";
}

void RedisCluster::StartNode(const std::string& known_nodes) {
  const std::size_t index = nodes_.size();
  // Without replicas no failover waits for it, and a node of a busy machine may be silent for a
  // while.
  const std::string node_timeout = count_ == kPrimaries ? "15000" : "800";
  std::vector<std::string> config = {"cluster-enabled yes",
                                     "cluster-config-file nodes.conf",
                                     "cluster-node-timeout " + node_timeout,
                                     "cluster-replica-validity-factor 0",
                                     "cluster-allow-replica-migration no",
                                     "repl-diskless-sync-delay 0",
                                     "cluster-port " + std::to_string(bus_ports_[index])};
  config.insert(config.end(), config_.begin(), config_.end());
  nodes_.push_back(std::make_unique<RedisServer>(RedisServerOptions{
      .config = std::move(config), .port = ports_[index], .cluster_nodes = known_nodes}));
}

Options RedisCluster::ClientOptions() const {
  Options options;
  options.topology = Topology::kCluster;
  for (std::size_t i = 0; i < kPrimaries; ++i) options.seeds.push_back({"127.0.0.1", ports_[i]});
  options.breaker.enabled = false;  // Tests of it switch it on.
  return options;
}

std::string RedisCluster::Url() const {
  std::string url = "redis-cluster://";
  for (std::size_t i = 0; i < kPrimaries; ++i) {
    url += (i == 0 ? "" : ",") + std::string("127.0.0.1:") + std::to_string(ports_[i]);
  }
  return url;
}

std::size_t RedisCluster::OwnerOf(std::uint16_t slot, std::size_t witness) const {
  const resp::Reply reply = nodes_[witness]->Do("CLUSTER SLOTS");
  for (const resp::Value range : reply.value()) {
    if (slot < range.at(0).integer() || slot > range.at(1).integer()) continue;
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (range.at(2).at(1).integer() == ports_[i]) return i;
    }
  }
  throw std::runtime_error("no node has slot " + std::to_string(slot));
}

void RedisCluster::AwaitHealthy() const {
  Await("all nodes serve", [this] {
    for (const auto& node : nodes_) {
      if (!node->Says("CLUSTER INFO", "cluster_state:ok")) return false;
      const bool primary = node->Says("INFO replication", "role:master");
      if (!primary && !node->Says("INFO replication", "master_link_status:up")) return false;
    }
    return true;
  });
}

std::size_t RedisCluster::AddNode() {
  const std::size_t index = nodes_.size();
  ports_.push_back(FreePort());
  bus_ports_.push_back(FreePort());
  StartNode("");
  ids_.emplace_back(nodes_[index]->Do("CLUSTER MYID").value().text());
  Expect(*nodes_[0], "CLUSTER MEET 127.0.0.1 " + std::to_string(ports_[index]) + " " +
                         std::to_string(bus_ports_[index]));
  Await("all know the new node", [&] {
    for (const auto& node : nodes_) {
      if (!node->Says("CLUSTER INFO",
                      "cluster_known_nodes:" + std::to_string(nodes_.size()) + "\r\n")) {
        return false;
      }
    }
    return true;
  });
  AwaitHealthy();
  return index;
}

void RedisCluster::FailOver(std::size_t replica) const {
  const std::size_t primary = replica % kPrimaries;
  const auto slot = static_cast<std::uint16_t>(primary * kSlots / kPrimaries);
  SteadyTime retry_at{};
  Await("the replica has the slots", [&] {
    if (OwnerOf(slot, (primary + 1) % kPrimaries) == replica) return true;
    // On a busy machine Redis may give up after 5 s; then the primaries do not vote again at once.
    if (SteadyClock::Now() >= retry_at) {
      nodes_[replica]->Do("CLUSTER FAILOVER");
      retry_at = SteadyClock::Now() + std::chrono::seconds(13);
    }
    return false;
  });
}

void RedisCluster::BeginMove(std::uint16_t slot, std::size_t from, std::size_t to) const {
  const std::string set = "CLUSTER SETSLOT " + std::to_string(slot);
  Expect(*nodes_[to], set + " IMPORTING " + ids_[from]);
  Expect(*nodes_[from], set + " MIGRATING " + ids_[to]);
}

std::size_t RedisCluster::MoveKeys(std::uint16_t slot, std::size_t from, std::size_t to,
                                   std::size_t most) const {
  const resp::Reply keys = nodes_[from]->Do("CLUSTER GETKEYSINSLOT " + std::to_string(slot) + " " +
                                            std::to_string(most));
  std::string command = "MIGRATE 127.0.0.1 " + std::to_string(ports_[to]) + " \"\" 0 5000 KEYS";
  for (const resp::Value key : keys.value()) command.append(" ").append(key.text());
  if (keys.value().size() > 0) Expect(*nodes_[from], command);
  return keys.value().size();
}

void RedisCluster::EndMove(std::uint16_t slot, std::size_t to) const {
  // The new owner first: in between, both would send clients to each other.
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const std::size_t index = (to + i) % nodes_.size();
    if (!nodes_[index]->Says("INFO replication", "role:master")) continue;
    Expect(*nodes_[index], "CLUSTER SETSLOT " + std::to_string(slot) + " NODE " + ids_[to]);
  }
}

}  // namespace sluice::redis::testing
