#include "control/disk/lazy_disk_store.h"

#include <utility>

namespace sluice::control {

// Null: there is no directory yet, and this is no write.
Result<DiskStore*> LazyDiskStore::Open(Access access) {
  const std::lock_guard lock(mutex_);
  if (store_) return store_.get();
  const auto directory = access == Access::kWrite ? directory_.Open() : directory_.OpenIfExists();
  if (!directory) return directory.error();
  if (*directory == nullptr) return nullptr;
  auto store = DiskStore::Open(**directory, clock_);
  if (!store) return store.error();
  store_ = *std::move(store);
  store_->OnNotification([this] { notifier_.Notify(); });
  if (on_open_) on_open_(*store_);
  return store_.get();
}

Result<std::optional<VersionRef>> LazyDiskStore::ReadCurrent() {
  const auto store = Open(Access::kRead);
  if (!store) return store.error();
  return *store == nullptr ? std::optional<VersionRef>() : (*store)->ReadCurrent();
}

Result<StoreHead> LazyDiskStore::ReadHead() {
  const auto store = Open(Access::kRead);
  if (!store) return store.error();
  return *store == nullptr ? StoreHead{.now = clock_.Now()} : (*store)->ReadHead();
}

Result<std::optional<Version>> LazyDiskStore::ReadVersion(const VersionId& id) {
  const auto store = Open(Access::kRead);
  if (!store) return store.error();
  return *store == nullptr ? std::optional<Version>() : (*store)->ReadVersion(id);
}

Result<std::vector<VersionInfo>> LazyDiskStore::ListVersions() {
  const auto store = Open(Access::kRead);
  if (!store) return store.error();
  return *store == nullptr ? std::vector<VersionInfo>() : (*store)->ListVersions();
}

Result<CommitResult> LazyDiskStore::Commit(const Version& version,
                                           const std::optional<VersionRef>& expected,
                                           const AuditEvent& event) {
  const auto store = Open(Access::kWrite);
  return store ? (*store)->Commit(version, expected, event) : store.error();
}

Result<RecordWriteResult> LazyDiskStore::WriteRecords(std::span<const RecordWrite> writes,
                                                      const AuditEvent& event) {
  if (auto problem = FindRecordProblem(writes)) return *problem;
  const auto store = Open(Access::kWrite);
  return store ? (*store)->WriteRecords(writes, event) : store.error();
}

Result<RecordPage> LazyDiskStore::ReadRecords(const RecordCursor& after, std::size_t count) {
  const auto store = Open(Access::kRead);
  if (!store) return store.error();
  if (*store == nullptr) return RecordTable().Read(after, count, clock_.Now());
  return (*store)->ReadRecords(after, count);
}

Result<RecordWriteResult> LazyDiskStore::RestoreRecords(std::span<const Record> records,
                                                        const RecordCursor& expected,
                                                        const RecordCursor& base,
                                                        const AuditEvent& event) {
  const auto store = Open(Access::kWrite);
  return store ? (*store)->RestoreRecords(records, expected, base, event) : store.error();
}

Result<AuditRecord> LazyDiskStore::AppendAudit(const AuditEvent& event) {
  const auto store = Open(Access::kWrite);
  return store ? (*store)->AppendAudit(event) : store.error();
}

Result<std::vector<AuditRecord>> LazyDiskStore::ReadAudit(std::uint64_t before, std::size_t count) {
  const auto store = Open(Access::kRead);
  if (!store) return store.error();
  return *store == nullptr ? std::vector<AuditRecord>() : (*store)->ReadAudit(before, count);
}

Result<bool> LazyDiskStore::WriteNodeReport(std::string_view name, const NodeReport& report,
                                            Micros ttl) {
  if (auto problem = FindReportProblem(name, report, ttl)) return *problem;
  const std::lock_guard lock(mutex_);
  nodes_.WriteReport(name, report, clock_.Now() + ttl);
  return true;
}

Result<std::vector<NodeReport>> LazyDiskStore::ReadNodeReports(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return nodes_.ReadReports(name, clock_.Now());
}

Result<WallTime> LazyDiskStore::WriteNode(const NodeRecord& node) {
  const std::lock_guard lock(mutex_);
  nodes_.Write(node, clock_.Now());
  return clock_.Now();
}

Result<bool> LazyDiskStore::RemoveNode(const std::string& id) {
  const std::lock_guard lock(mutex_);
  return nodes_.Remove(id);
}

Result<std::vector<NodeRecord>> LazyDiskStore::ListNodes() {
  const std::lock_guard lock(mutex_);
  return nodes_.List(clock_.Now());
}

Result<WallTime> LazyDiskStore::Now() { return clock_.Now(); }

void LazyDiskStore::OnNotification(std::function<void()> callback) {
  notifier_.Set(std::move(callback));
}

}  // namespace sluice::control
