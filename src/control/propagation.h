#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "control/node.h"
#include "control/version.h"

namespace sluice::control {

/// A node with its state.
struct NodeStatus {
  NodeRecord node{};
  NodeState state = NodeState::kBehind;
};

/// All nodes, compared with the current version at the store's time.
struct NodeList {
  VersionRef current{};  ///< Number 0: the store is empty.
  WallTime now{};
  std::vector<NodeStatus> nodes{};  ///< By id.
};

struct LaggingNode {
  NodeStatus status{};
  std::string reason{};  ///< For people: the error of a node that rejected it, or "still at 1.16".
};

/// How far a version has come.
struct Propagation {
  VersionRef version{};
  std::size_t applied = 0;             ///< Live nodes that have it, or a later one.
  std::size_t of = 0;                  ///< Live nodes that follow versions.
  std::vector<LaggingNode> lagging{};  ///< The other live nodes.

  [[nodiscard]] bool complete() const { return applied == of; }
};

/// Counts the live nodes that have `version` or a later one.
[[nodiscard]] Propagation PropagationOf(const VersionRef& version, const NodeList& nodes);

/// Counts the live nodes that have the records up to this position.
[[nodiscard]] Propagation PropagationOf(const RecordCursor& cursor, const NodeList& nodes);

}  // namespace sluice::control
