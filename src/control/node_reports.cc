#include "control/node_reports.h"

#include <utility>

namespace sluice::control {

void NodeReports::Write(std::string_view name, NodeReport report, WallTime expires_at) {
  Stored& stored = reports_[std::string(name)][report.node];
  stored = {.report = std::move(report), .expires_at = expires_at};
}

std::vector<NodeReport> NodeReports::Read(std::string_view name, WallTime now) {
  std::vector<NodeReport> list;
  const auto found = reports_.find(name);
  if (found == reports_.end()) return list;
  std::erase_if(found->second, [now](const auto& item) { return item.second.expires_at <= now; });
  for (const auto& [node, stored] : found->second) list.push_back(stored.report);
  return list;
}

}  // namespace sluice::control
