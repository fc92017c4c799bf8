#pragma once

#include <cstdint>
#include <string>

#include "control/version.h"

namespace sluice::control {

enum class SyncEventKind : std::uint8_t {
  kActivated,         ///< A version is in use.
  kRejected,          ///< A version can't be used by this node, which keeps the one before.
  kStoreFailed,       ///< The first failed read after successful ones.
  kStoreRecovered,    ///< The first successful read after failed ones.
  kSeeded,            ///< An empty store was filled.
  kSeedIgnored,       ///< The store has a version: the rule file was not used.
  kVersionsLost,      ///< The store has lost versions that this node has followed.
  kVersionsRestored,  ///< This node has restored them.
  kCopyFailed,        ///< The last good copy can't be read or written.
  kRecordsFailed,     ///< The first failed read of records after successful ones.
  kRecordsRecovered,  ///< The first successful read of records after failed ones.
  kRecordsLost,       ///< The store has lost records that this node has followed.
  kRecordsRestored,   ///< This node has restored them.
};

/// A change that is worth a log line.
struct SyncEvent {
  SyncEventKind kind{};
  VersionRef version{};
  std::string message{};  ///< For people, with the consequence.
};

/// The author of a node's own changes.
[[nodiscard]] inline Origin ServerOrigin(std::string address) {
  return {.author = "sluice", .authentication = "server", .address = std::move(address)};
}

}  // namespace sluice::control
