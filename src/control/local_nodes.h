#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "control/node.h"
#include "control/record.h"

namespace sluice::control {

/// The list of nodes and their reports in memory, for stores of one process. One thread at a time.
class LocalNodes {
 public:
  void Write(NodeRecord node, WallTime now);
  bool Remove(const std::string& id);
  /// Lists those that were seen within kNodeListed, by id.
  [[nodiscard]] std::vector<NodeRecord> List(WallTime now) const;

  void WriteReport(std::string_view name, NodeReport report, WallTime expires_at);
  /// Reads those that have not expired, by node.
  [[nodiscard]] std::vector<NodeReport> ReadReports(std::string_view name, WallTime now);

 private:
  struct Stored {
    NodeReport report{};
    WallTime expires_at{};
  };

  std::map<std::string, NodeRecord> nodes_;
  std::map<std::string, std::map<std::string, Stored>, std::less<>> reports_;  ///< By name, node.
};

}  // namespace sluice::control
