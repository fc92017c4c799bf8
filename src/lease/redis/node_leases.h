#pragma once

#include <atomic>
#include <cstdint>

#include "base/random.h"
#include "denial/denial_table.h"
#include "lease/lease_table.h"

namespace sluice::lease {

/// A task that one loop at a time does for all loops of a process.
class ExclusiveRole {
 public:
  /// Takes the role if it is free. Returns whether the caller has it.
  bool Take() { return !taken_.load() && !taken_.exchange(true); }
  void Leave() { taken_.store(false); }

 private:
  std::atomic<bool> taken_{false};
};

/// Leases and denials shared by all loops of a process. Thread-safe.
struct NodeLeases {
  explicit NodeLeases(const TableOptions& options = {}) : table(options, denials) {}

  denial::DenialTable denials;
  LeaseTable table;
  const std::uint64_t node = RandomId();  ///< Identifies this process's announcements.
  ExclusiveRole sweeping;
  ExclusiveRole listening;
  ExclusiveRole heartbeat;
};

}  // namespace sluice::lease
