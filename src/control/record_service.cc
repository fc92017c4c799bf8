#include "control/record_service.h"

#include <utility>

#include "control/follower.h"

namespace sluice::control {

std::optional<Record> NodeRecordService::Find(RecordKind kind, std::string_view id) {
  return follower_.records().Find(kind, id);
}

std::vector<Record> NodeRecordService::List(RecordKind kind, std::string_view after,
                                            std::size_t limit,
                                            const std::function<bool(const Record&)>& filter) {
  return follower_.records().List(kind, after, limit, filter);
}

Result<RecordChangeResult> NodeRecordService::Write(std::span<const RecordWrite> writes,
                                                    const RecordAudit& audit) {
  if (auto problem = FindRecordProblem(writes)) return *problem;
  const auto head = store_.ReadHead();
  if (!head) return head.error();
  if (follower_.records().IsBehind(head->records)) {
    return Error{ErrorCode::kStoreUnavailable,
                 "the store has lost records; a node is about to restore them"};
  }
  auto written = store_.WriteRecords(writes, {.time = head->now,
                                              .origin = audit.origin,
                                              .action = audit.action,
                                              .target = audit.target,
                                              .message = audit.message,
                                              .node = node_});
  if (!written) return written.error();
  RecordChangeResult result{.written = *std::move(written)};
  if (result.written.outcome != RecordWriteOutcome::kWritten) return result;
  follower_.Wake();
  result.applied = follower_.records().AwaitDelivery(result.written.cursor, kApplyTimeout);
  return result;
}

}  // namespace sluice::control
