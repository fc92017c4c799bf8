#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/control_store.h"
#include "control/disk/disk_store.h"
#include "control/disk/lazy_state_directory.h"
#include "control/local_nodes.h"
#include "control/notifier.h"

namespace sluice::control {

/// The control store of one process whose rules come from a file: a DiskStore in a directory that
/// is created by the first write. Until then it is empty. A directory that can't be used is an
/// error of the call; the next one tries again. Thread-safe.
class LazyDiskStore final : public ControlStore {
 public:
  /// `directory` and `clock` must outlive it. `on_open` is called once, with the store.
  LazyDiskStore(LazyStateDirectory& directory, const Clock& clock,
                std::function<void(const DiskStore&)> on_open = {})
      : directory_(directory), clock_(clock), on_open_(std::move(on_open)) {}

  Result<std::optional<VersionRef>> ReadCurrent() override;
  Result<StoreHead> ReadHead() override;
  Result<std::optional<Version>> ReadVersion(const VersionId& id) override;
  Result<std::vector<VersionInfo>> ListVersions() override;
  Result<CommitResult> Commit(const Version& version, const std::optional<VersionRef>& expected,
                              const AuditEvent& event) override;
  Result<RecordWriteResult> WriteRecords(std::span<const RecordWrite> writes,
                                         const AuditEvent& event) override;
  Result<RecordPage> ReadRecords(const RecordCursor& after, std::size_t count) override;
  Result<RecordWriteResult> RestoreRecords(std::span<const Record> records,
                                           const RecordCursor& expected, const RecordCursor& base,
                                           const AuditEvent& event) override;
  Result<bool> WriteNodeReport(std::string_view name, const NodeReport& report,
                               Micros ttl) override;
  Result<std::vector<NodeReport>> ReadNodeReports(std::string_view name) override;
  Result<AuditRecord> AppendAudit(const AuditEvent& event) override;
  Result<std::vector<AuditRecord>> ReadAudit(std::uint64_t before, std::size_t count) override;
  Result<WallTime> WriteNode(const NodeRecord& node) override;
  Result<bool> RemoveNode(const std::string& id) override;
  Result<std::vector<NodeRecord>> ListNodes() override;
  Result<WallTime> Now() override;
  void OnNotification(std::function<void()> callback) override;

 private:
  enum class Access : std::uint8_t { kRead, kWrite };

  Result<DiskStore*> Open(Access access);

  LazyStateDirectory& directory_;
  const Clock& clock_;
  const std::function<void(const DiskStore&)> on_open_;
  Notifier notifier_;
  std::mutex mutex_;                  ///< Guards all that follows.
  std::unique_ptr<DiskStore> store_;  ///< Never replaced.
  LocalNodes nodes_;
};

}  // namespace sluice::control
