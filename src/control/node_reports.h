#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "control/record.h"

namespace sluice::control {

/// Reports of nodes in memory, for stores of one process. One thread at a time.
class NodeReports {
 public:
  void Write(std::string_view name, NodeReport report, WallTime expires_at);
  /// Reads those that have not expired, by node.
  [[nodiscard]] std::vector<NodeReport> Read(std::string_view name, WallTime now);

 private:
  struct Stored {
    NodeReport report{};
    WallTime expires_at{};
  };

  std::map<std::string, std::map<std::string, Stored>, std::less<>> reports_;  ///< By name, node.
};

}  // namespace sluice::control
