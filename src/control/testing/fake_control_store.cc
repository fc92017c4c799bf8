#include "control/testing/fake_control_store.h"

#include <ranges>
#include <utility>

#include "control/record_text.h"

namespace sluice::control::testing {

void FakeControlStore::SetFailure(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(error);
}

void FakeControlStore::SetCommitAnswer(std::optional<Error> error) {
  const std::lock_guard lock(mutex_);
  commit_answer_ = std::move(error);
}

FakeControlStore::Content FakeControlStore::GetContent() const {
  const std::lock_guard lock(mutex_);
  return content_;
}

void FakeControlStore::SetContent(Content content) {
  const std::lock_guard lock(mutex_);
  content_ = std::move(content);
}

int FakeControlStore::version_reads() const {
  const std::lock_guard lock(mutex_);
  return version_reads_;
}

Result<std::optional<VersionRef>> FakeControlStore::ReadCurrent() {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return content_.current;
}

Result<StoreHead> FakeControlStore::ReadHead() {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return StoreHead{
      .version = content_.current, .records = content_.records.cursor(), .now = clock_.Now()};
}

Result<std::optional<Version>> FakeControlStore::ReadVersion(const VersionId& id) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  ++version_reads_;
  std::optional<Version> found;
  for (const auto& [kept, version] : content_.versions) {
    if (kept == id || (id.epoch == 0 && kept.number == id.number)) found = version;
  }
  return found;
}

Result<std::vector<VersionInfo>> FakeControlStore::ListVersions() {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  std::vector<VersionInfo> list;
  for (const auto& [id, version] : std::views::reverse(content_.versions)) {
    list.push_back(version.info);
  }
  return list;
}

Result<CommitResult> FakeControlStore::Commit(const Version& version,
                                              const std::optional<VersionRef>& expected,
                                              const AuditEvent& event) {
  if (auto problem = FindCommitProblem(version, expected)) return *problem;
  std::optional<Error> answer;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    if (expected != content_.current) {
      return CommitResult{.current = content_.current.value_or(VersionRef{})};
    }
    content_.versions[version.info.ref.id] = version;
    content_.current = version.info.ref;
    if (content_.versions.size() > kVersionsKept) {
      content_.versions.erase(content_.versions.begin());
    }
    AppendLocked(event);
    answer = commit_answer_;
  }
  notifier_.Notify();
  if (answer) return *answer;
  return CommitResult{.committed = true, .current = version.info.ref};
}

const AuditRecord& FakeControlStore::AppendLocked(const AuditEvent& event) {
  const AuditRecord last = content_.audit.empty() ? AuditRecord{} : content_.audit.back();
  return content_.audit.emplace_back(NextRecord(last, event));
}

Result<RecordWriteResult> FakeControlStore::WriteRecords(std::span<const RecordWrite> writes,
                                                         const AuditEvent& event) {
  if (auto problem = FindRecordProblem(writes)) return *problem;
  return ApplyRecords([&](const RecordTable& table) { return table.Prepare(writes, clock_.Now()); },
                      /*is_restore=*/false, event);
}

Result<RecordWriteResult> FakeControlStore::RestoreRecords(std::span<const Record> records,
                                                           const RecordCursor& expected,
                                                           const RecordCursor& base,
                                                           const AuditEvent& event) {
  return ApplyRecords(
      [&](const RecordTable& table) {
        return table.PrepareRestore(records, expected, base, clock_.Now());
      },
      /*is_restore=*/true, event);
}

Result<RecordWriteResult> FakeControlStore::ApplyRecords(const PrepareRecords& prepare,
                                                         bool is_restore, const AuditEvent& event) {
  std::optional<Error> answer;
  RecordTable::Plan plan;
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return *failure_;
    plan = prepare(content_.records);
    if (plan.result.outcome != RecordWriteOutcome::kWritten) return plan.result;
    if (is_restore) {
      content_.records.Reset(plan.records, plan.result.cursor);
    } else {
      content_.records.Apply(plan.records, plan.result.cursor);
    }
    if (!event.action.empty()) AppendLocked(event);
    answer = commit_answer_;
  }
  notifier_.Notify();
  if (answer) return *answer;
  return plan.result;
}

Result<RecordPage> FakeControlStore::ReadRecords(const RecordCursor& after, std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  ++record_reads_;
  return content_.records.Read(after, count, clock_.Now());
}

int FakeControlStore::record_reads() const {
  const std::lock_guard lock(mutex_);
  return record_reads_;
}

Result<bool> FakeControlStore::WriteNodeReport(std::string_view name, const NodeReport& report,
                                               Micros ttl) {
  if (auto problem = FindReportProblem(name, report, ttl)) return *problem;
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  reports_.WriteReport(name, report, clock_.Now() + ttl);
  return true;
}

Result<std::vector<NodeReport>> FakeControlStore::ReadNodeReports(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return reports_.ReadReports(name, clock_.Now());
}

Result<AuditRecord> FakeControlStore::AppendAudit(const AuditEvent& event) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return AppendLocked(event);
}

Result<std::vector<AuditRecord>> FakeControlStore::ReadAudit(std::uint64_t before,
                                                             std::size_t count) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  std::vector<AuditRecord> records;
  for (const AuditRecord& record : std::views::reverse(content_.audit)) {
    if (records.size() == count) break;
    if (before == 0 || record.sequence < before) records.push_back(record);
  }
  return records;
}

Result<WallTime> FakeControlStore::WriteNode(const NodeRecord& node) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  content_.nodes[node.id] = node;
  content_.nodes[node.id].last_seen = clock_.Now();
  return clock_.Now();
}

Result<bool> FakeControlStore::RemoveNode(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return content_.nodes.erase(id) > 0;
}

Result<std::vector<NodeRecord>> FakeControlStore::ListNodes() {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  std::vector<NodeRecord> list;
  for (const auto& [id, node] : content_.nodes) {
    if (clock_.Now() - node.last_seen <= kNodeListed) list.push_back(node);
  }
  return list;
}

Result<WallTime> FakeControlStore::Now() {
  const std::lock_guard lock(mutex_);
  if (failure_) return *failure_;
  return clock_.Now();
}

void FakeControlStore::OnNotification(std::function<void()> callback) {
  notifier_.Set(std::move(callback));
}

}  // namespace sluice::control::testing
