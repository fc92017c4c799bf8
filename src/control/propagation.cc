#include "control/propagation.h"

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

}  // namespace sluice::control
