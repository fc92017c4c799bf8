// Records and reports of nodes in the disk store.

#include <utility>

#include "control/disk/disk_store.h"

namespace sluice::control {
namespace {

RecordBatch BatchOf(const RecordTable::Plan& plan, const AuditRecord& audit) {
  return {.cursor = plan.result.cursor, .audit = audit, .records = plan.records};
}

}  // namespace

std::optional<Error> DiskStore::LoadRecords() {
  auto loaded = record_log_.Load();
  if (!loaded) return loaded.error();
  records_ = std::move(loaded->table);
  if (loaded->audit.sequence > audit_.last().sequence &&
      (!pending_ || loaded->audit.sequence > pending_->sequence)) {
    pending_ = std::move(loaded->audit);
  }
  if (loaded->damage.empty()) return std::nullopt;
  repairs_.push_back(loaded->damage);
  SetAside("records");
  if (auto error = AppendPending()) return error;
  RecordCursor cursor = records_.cursor();
  ++cursor.epoch;
  ++cursor.sequence;
  cursor.time = clock_.Now();
  records_.Reset(records_.List(), cursor);
  const AuditRecord record =
      NextRecord(audit_.last(), {.time = cursor.time,
                                 .origin = {.author = "sluice", .authentication = "server"},
                                 .action = "records.recover",
                                 .target = std::to_string(records_.size()) + " records",
                                 .message = loaded->damage});
  if (auto error = record_log_.Replace(records_, record)) return error;
  pending_ = record;
  return std::nullopt;
}

Result<RecordWriteResult> DiskStore::WriteRecords(std::span<const RecordWrite> writes,
                                                  const AuditEvent& event) {
  if (auto problem = FindRecordProblem(writes)) return *problem;
  RecordTable::Plan plan;
  {
    const std::lock_guard lock(mutex_);
    plan = records_.Prepare(writes, clock_.Now());
    if (plan.result.outcome != RecordWriteOutcome::kWritten) return plan.result;
    // The last batch has room for one audit record that is not in the log.
    if (auto error = AppendPending()) return *error;
    const bool is_audited = !event.action.empty();
    const AuditRecord record = is_audited ? NextRecord(audit_.last(), event) : AuditRecord{};
    if (auto error = record_log_.Append(BatchOf(plan, record))) return *error;
    records_.Apply(plan.records, plan.result.cursor);
    if (is_audited) pending_ = record;
    (void)AppendPending();  // Written already: after an error it is appended later.
    if (record_log_.IsLong()) (void)record_log_.Replace(records_, record);
  }
  notifier_.Notify();
  return plan.result;
}

Result<RecordPage> DiskStore::ReadRecords(const RecordCursor& after, std::size_t count) {
  const std::lock_guard lock(mutex_);
  return records_.Read(after, count, clock_.Now());
}

Result<RecordWriteResult> DiskStore::RestoreRecords(std::span<const Record> records,
                                                    const RecordCursor& expected,
                                                    const RecordCursor& base,
                                                    const AuditEvent& event) {
  RecordTable::Plan plan;
  {
    const std::lock_guard lock(mutex_);
    plan = records_.PrepareRestore(records, expected, base, clock_.Now());
    if (plan.result.outcome != RecordWriteOutcome::kWritten) return plan.result;
    if (auto error = AppendPending()) return *error;
    const AuditRecord record = NextRecord(audit_.last(), event);
    RecordTable table;
    table.Reset(plan.records, plan.result.cursor);
    if (auto error = record_log_.Replace(table, record)) return *error;
    records_ = std::move(table);
    pending_ = record;
    (void)AppendPending();
  }
  notifier_.Notify();
  return plan.result;
}

Result<bool> DiskStore::WriteNodeReport(std::string_view name, const NodeReport& report,
                                        Micros ttl) {
  if (auto problem = FindReportProblem(name, report, ttl)) return *problem;
  const std::lock_guard lock(mutex_);
  nodes_.WriteReport(name, report, clock_.Now() + ttl);
  return true;
}

Result<std::vector<NodeReport>> DiskStore::ReadNodeReports(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return nodes_.ReadReports(name, clock_.Now());
}

}  // namespace sluice::control
