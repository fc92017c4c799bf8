#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/clock.h"
#include "redis/blocking_client.h"
#include "redis/options.h"

namespace sluice::redis {

/// Blocking connections to each server that holds keys: one, or all primaries of a cluster. For
/// administrators' commands that concern a server instead of a key, such as SCAN and INFO.
///
/// Thread-safe. Connects on first use.
class PrimaryClients {
 public:
  explicit PrimaryClients(Options options, Micros timeout = std::chrono::seconds(1));
  ~PrimaryClients();

  struct Primary {
    std::string name;  ///< Its address, for people; unique.
    std::shared_ptr<BlockingClient> client;
  };
  /// Returns the primaries, ordered by name. Of a cluster, the map of slots is read again after a
  /// second.
  Result<std::vector<Primary>> List();

  [[nodiscard]] Micros timeout() const { return timeout_; }

 private:
  Result<std::vector<ServerAddress>> ReadOwners();

  const Options options_;
  const Micros timeout_;
  std::mutex mutex_;  ///< Guards everything below.
  std::shared_ptr<BlockingClient> service_;
  std::map<std::string, std::shared_ptr<BlockingClient>> nodes_;  ///< Of a cluster, by name.
  SteadyTime listed_{};
};

/// Calls one server. An error reply of Redis is an error, too.
[[nodiscard]] Result<CallResult> CallPrimary(const PrimaryClients::Primary& primary,
                                             std::initializer_list<std::string_view> command,
                                             Micros timeout);

}  // namespace sluice::redis
