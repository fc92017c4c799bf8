#include "control/local_nodes.h"

#include <utility>

namespace sluice::control {

void LocalNodes::Write(NodeRecord node, WallTime now) {
  node.last_seen = now;
  NodeRecord& stored = nodes_[node.id];
  stored = std::move(node);
}

bool LocalNodes::Remove(const std::string& id) { return nodes_.erase(id) > 0; }

std::vector<NodeRecord> LocalNodes::List(WallTime now) const {
  std::vector<NodeRecord> list;
  for (const auto& [id, node] : nodes_) {
    if (now - node.last_seen <= kNodeListed) list.push_back(node);
  }
  return list;
}

void LocalNodes::WriteReport(std::string_view name, NodeReport report, WallTime expires_at) {
  Stored& stored = reports_[std::string(name)][report.node];
  stored = {.report = std::move(report), .expires_at = expires_at};
}

std::vector<NodeReport> LocalNodes::ReadReports(std::string_view name, WallTime now) {
  std::vector<NodeReport> list;
  const auto found = reports_.find(name);
  if (found == reports_.end()) return list;
  std::erase_if(found->second, [now](const auto& item) { return item.second.expires_at <= now; });
  for (const auto& [node, stored] : found->second) list.push_back(stored.report);
  return list;
}

}  // namespace sluice::control
