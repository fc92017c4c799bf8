#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "redis/options.h"
#include "redis/testing/redis_server.h"

namespace sluice::redis::testing {

/// A primary, a replica and three sentinels that watch over them, and are quick to fail over.
class SentinelSet {
 public:
  static constexpr const char* kName = "mymaster";

  /// More lines for the configuration of all servers, and of all sentinels.
  explicit SentinelSet(const std::vector<std::string>& server_config = {},
                       const std::vector<std::string>& sentinel_config = {});

  [[nodiscard]] Options ClientOptions() const;
  [[nodiscard]] std::string Url() const;

  [[nodiscard]] RedisServer& server(std::size_t index) { return *servers_[index]; }
  [[nodiscard]] RedisServer& sentinel(std::size_t index) { return *sentinels_[index]; }

  /// Which server the sentinels say is the primary.
  [[nodiscard]] std::size_t Primary() const;
  /// Returns once the replica has all that the primary has, and the sentinels know both.
  void AwaitHealthy() const;
  /// Lets the replica take over; returns once the sentinels say so.
  void Failover() const;

 private:
  std::vector<std::unique_ptr<RedisServer>> servers_;
  std::vector<std::unique_ptr<RedisServer>> sentinels_;
};

}  // namespace sluice::redis::testing
