#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "redis/options.h"
#include "redis/testing/redis_server.h"

namespace sluice::redis::testing {

/// A cluster of three primaries (nodes 0 to 2), and unless it does without, a replica of each
/// (3 to 5) that takes over soon after its primary fails.
class RedisCluster {
 public:
  static constexpr std::size_t kPrimaries = 3;
  enum class Replicas : std::uint8_t { kNone, kOneEach };

  /// `config`: more lines for the configuration of all nodes.
  explicit RedisCluster(Replicas replicas = Replicas::kOneEach,
                        std::vector<std::string> config = {});

  /// All primaries are seeds.
  [[nodiscard]] Options ClientOptions() const;
  [[nodiscard]] std::string Url() const;
  [[nodiscard]] RedisServer& node(std::size_t index) { return *nodes_[index]; }
  /// The node that has the slot, as `witness` sees it.
  [[nodiscard]] std::size_t OwnerOf(std::uint16_t slot, std::size_t witness) const;

  /// Returns once every node serves, and every replica is in step.
  void AwaitHealthy() const;
  /// A new primary without slots; returns its index once all know it.
  std::size_t AddNode();

  /// Promotes a replica as planned, so that nothing is lost; returns once another primary knows.
  void FailOver(std::size_t replica) const;

  /// The steps in which a slot moves. In between, each of its keys is in one of two places.
  void BeginMove(std::uint16_t slot, std::size_t from, std::size_t to) const;
  /// Moves up to so many keys; returns how many there were.
  std::size_t MoveKeys(std::uint16_t slot, std::size_t from, std::size_t to,
                       std::size_t most) const;
  void EndMove(std::uint16_t slot, std::size_t to) const;

 private:
  void StartNode(const std::string& known_nodes);
  [[nodiscard]] std::string LineOf(std::size_t index, std::size_t reader) const;

  const std::vector<std::string> config_;
  std::size_t count_;
  std::vector<std::uint16_t> ports_;
  std::vector<std::uint16_t> bus_ports_;
  std::vector<std::string> ids_;
  std::vector<std::unique_ptr<RedisServer>> nodes_;
};

}  // namespace sluice::redis::testing
