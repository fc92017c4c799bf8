#include "control/testing/fake_record_service.h"

#include <utility>

namespace sluice::control::testing {

void FakeRecordService::SetFailure(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

std::vector<RecordAudit> FakeRecordService::Audits() const {
  const std::lock_guard lock(mutex_);
  return audits_;
}

std::optional<Record> FakeRecordService::Find(RecordKind kind, std::string_view id) {
  const std::lock_guard lock(mutex_);
  const Record* const found = table_.Find(kind, id);
  if (found == nullptr || found->IsExpired(clock_.Now())) return std::nullopt;
  return *found;
}

std::vector<Record> FakeRecordService::List(RecordKind kind, std::string_view after,
                                            std::size_t limit,
                                            const std::function<bool(const Record&)>& filter) {
  const std::lock_guard lock(mutex_);
  return table_.ListOf(kind, after, limit, clock_.Now(), filter);
}

Result<RecordChangeResult> FakeRecordService::Write(std::span<const RecordWrite> writes,
                                                    const RecordAudit& audit) {
  if (auto problem = FindRecordProblem(writes)) return *problem;
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  const RecordTable::Plan plan = table_.Prepare(writes, clock_.Now());
  if (plan.result.outcome == RecordWriteOutcome::kWritten) {
    table_.Apply(plan.records, plan.result.cursor);
    audits_.push_back(audit);
  }
  return RecordChangeResult{.written = plan.result, .applied = true};
}

}  // namespace sluice::control::testing
