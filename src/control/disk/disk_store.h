#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "control/control_store.h"
#include "control/disk/audit_log.h"
#include "control/disk/record_log.h"
#include "control/disk/state_directory.h"
#include "control/local_nodes.h"
#include "control/notifier.h"
#include "control/record_table.h"

namespace sluice::control {

/// The control store of one process, in its state directory:
///
///     versions/<epoch>.<number>   one immutable file for each version
///     current                     the current version and the audit record of its commit
///     records                     all records, and the writes since (record_log.h)
///     audit/<sequence>.jsonl      the audit log
///     damaged/<name>              files that Open could not read
///
/// A commit writes the version, replaces `current` (from then on it is committed), then appends the
/// record to the log. If the process ends before, or the disk is full, the record is appended from
/// `current` later. A write of records is one batch in `records`, with the audit record, which is
/// then appended to the log in the same way. Nodes and their reports are kept in memory: there is
/// only this one.
///
/// Damage is repaired by Open: in place of a damaged current version, the newest intact one becomes
/// current again, as a new version; damaged parts of `records` are left out, in a new epoch.
///
/// Thread-safe: one lock, which is held while files are written.
class DiskStore final : public ControlStore {
 public:
  /// Opens the store and removes what a crash has left. `directory` and `clock` must outlive it.
  static Result<std::unique_ptr<DiskStore>> Open(StateDirectory& directory, const Clock& clock);

  /// Repairs that Open has made, for people: each is worth a log line and an alert.
  [[nodiscard]] const std::vector<std::string>& repairs() const { return repairs_; }

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
  DiskStore(StateDirectory& directory, const Clock& clock, AuditLog audit)
      : directory_(directory),
        clock_(clock),
        audit_(std::move(audit)),
        record_log_(directory, "records") {}

  std::optional<Error> LoadCurrent();
  std::optional<Error> LoadVersions();
  std::optional<Error> LoadRecords();
  std::optional<Error> CheckCurrentVersion();
  Result<std::optional<Version>> ReadVersionFile(const VersionId& id) const;
  void SetAside(const std::string& name);
  Result<CommitResult> CommitLocked(const Version& version,
                                    const std::optional<VersionRef>& expected,
                                    const AuditEvent& event);
  std::optional<Error> ReplaceCurrent(const VersionInfo& info, const AuditRecord& record);
  std::optional<Error> AppendPending();
  void TrimVersions();

  StateDirectory& directory_;
  const Clock& clock_;
  Notifier notifier_;

  std::mutex mutex_;  ///< Guards all that follows.
  AuditLog audit_;
  std::optional<AuditRecord> pending_;  ///< Of the last change, not in the log yet.
  std::optional<VersionRef> current_;
  std::optional<Version> current_version_;  ///< Reads of it don't depend on its file.
  std::map<VersionId, VersionInfo> versions_;
  LocalNodes nodes_;
  RecordLog record_log_;
  RecordTable records_;
  std::vector<std::string> repairs_;  ///< Not changed after Open.
};

}  // namespace sluice::control
