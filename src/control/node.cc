#include "control/node.h"

#include <array>

namespace sluice::control {

std::string_view NameOf(NodeState state) {
  constexpr std::array<std::string_view, 4> kNames{"ok", "behind", "rejected", "gone"};
  return kNames[static_cast<std::size_t>(state)];
}

NodeState StateOf(const NodeRecord& node, const VersionRef& current, WallTime now) {
  if (now - node.last_seen > kNodeTimeout) return NodeState::kGone;
  if (node.active == current || node.rules_from_file) return NodeState::kOk;
  return node.rejected == current ? NodeState::kRejected : NodeState::kBehind;
}

}  // namespace sluice::control
