#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/folder.h"
#include "load/process.h"
#include "redis/testing/redis_cluster.h"
#include "redis/testing/redis_server.h"

namespace sluice::bench {

/// A Redis, or a Redis Cluster of three, that can say how often it was called.
class Redis {
 public:
  enum class Kind : std::uint8_t { kOne, kCluster };
  explicit Redis(Kind kind);

  [[nodiscard]] std::string Url() const;
  /// Scripts that it has run so far: each is a call of the store, or several that travelled
  /// together.
  [[nodiscard]] std::uint64_t Calls();
  /// The processor time that it has used so far, in seconds.
  [[nodiscard]] double CpuSeconds();

 private:
  std::unique_ptr<redis::testing::RedisServer> one_;
  std::unique_ptr<redis::testing::RedisCluster> cluster_;
};

/// Servers with the same rules that share a store, each with one event loop and a RESP port.
class Fleet {
 public:
  Fleet(std::size_t nodes, const std::string& store, const std::string& rules, const Cores& cores);

  [[nodiscard]] std::vector<std::uint16_t> Ports() const;
  [[nodiscard]] const Process& first() const { return *nodes_.front(); }

 private:
  testing::Folder folder_;
  std::vector<std::unique_ptr<Process>> nodes_;
};

}  // namespace sluice::bench
