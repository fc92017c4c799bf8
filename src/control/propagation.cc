#include "control/propagation.h"

#include <string>
#include <utility>

namespace sluice::control {

Propagation PropagationOf(const VersionRef& version, const NodeList& nodes) {
  Propagation propagation{.version = version};
  for (const NodeStatus& status : nodes.nodes) {
    const NodeRecord& node = status.node;
    if (status.state == NodeState::kGone || node.rules_from_file) continue;
    ++propagation.of;
    if (node.active == version || node.active.id > version.id) {
      ++propagation.applied;
      continue;
    }
    std::string reason;
    if (node.rejected == version) {
      reason = "can't use it: " + node.error;
    } else if (node.active.id.number == 0) {
      reason = "has no version yet";
    } else {
      reason = "still has " + ToText(node.active.id);
    }
    propagation.lagging.push_back({.status = status, .reason = std::move(reason)});
  }
  return propagation;
}

Propagation PropagationOf(const RecordCursor& cursor, const NodeList& nodes) {
  Propagation propagation;
  for (const NodeStatus& status : nodes.nodes) {
    if (status.state == NodeState::kGone) continue;
    ++propagation.of;
    const RecordCursor& records = status.node.records;
    const bool has_it =
        std::pair(records.epoch, records.sequence) >= std::pair(cursor.epoch, cursor.sequence);
    if (has_it && !status.node.records_from_copy) {
      ++propagation.applied;
      continue;
    }
    propagation.lagging.push_back(
        {.status = status, .reason = "still at record " + std::to_string(records.sequence)});
  }
  return propagation;
}

}  // namespace sluice::control
