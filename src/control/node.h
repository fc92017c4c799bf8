#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "control/record.h"
#include "control/version.h"

namespace sluice::control {

/// A node that has not been seen for this long is gone.
inline constexpr Micros kNodeTimeout = std::chrono::seconds(3);
/// A gone node is listed for this long.
inline constexpr Micros kNodeListed = std::chrono::minutes(10);

enum class NodeState : std::uint8_t {
  kOk,        ///< Has the current version.
  kBehind,    ///< Has an earlier one.
  kRejected,  ///< Can't use the current version, and keeps an earlier one.
  kGone,      ///< Has not been seen lately.
};

[[nodiscard]] std::string_view NameOf(NodeState state);

/// The status that a node publishes, once a second and after each change.
struct NodeRecord {
  std::string id{};       ///< Of the process: a restart is a new node.
  std::string address{};  ///< Of its HTTP listener.
  std::string build{};
  WallTime started{};
  VersionRef active{};
  WallTime active_since{};
  bool from_copy = false;  ///< `active` is the copy on its disk: it has not read the store yet.
  bool rules_from_file = false;    ///< It follows no versions.
  RecordCursor records{};          ///< Up to where it has the records.
  bool records_from_copy = false;  ///< They are the copy on its disk.
  VersionRef rejected{};           ///< The version that it can't use, while there is one.
  std::string error{};             ///< Why.
  std::string store{};             ///< "memory", or the state of its connections to Redis.
  std::string breaker{};           ///< "closed", "open" or "half_open"; empty without Redis.
  WallTime last_seen{};            ///< By the store's clock; set by the store.
};

/// Returns the state of a node, given the store's current version and time.
[[nodiscard]] NodeState StateOf(const NodeRecord& node, const VersionRef& current, WallTime now);

}  // namespace sluice::control
