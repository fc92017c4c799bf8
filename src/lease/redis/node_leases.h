#pragma once

#include <atomic>
#include <cstdint>

#include "base/random.h"
#include "lease/lease_table.h"

namespace sluice::lease {

/// Something that one loop at a time does for all loops of a process.
class Duty {
 public:
  /// Whether the caller has it from now on.
  bool Take() { return !taken_.exchange(true); }
  void Leave() { taken_.store(false); }

 private:
  std::atomic<bool> taken_{false};
};

/// What all loops of a process share of its leases. Thread-safe.
struct NodeLeases {
  explicit NodeLeases(const TableOptions& options = {}) : table(options) {}

  LeaseTable table;
  const std::uint64_t node = RandomId();  ///< Tells this process's announcements from others'.
  Duty sweeping;
  Duty listening;
};

}  // namespace sluice::lease
