#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "control/control_store.h"
#include "control/node_reports.h"
#include "control/notifier.h"
#include "control/record_table.h"

namespace sluice::control::testing {

/// A control store in memory, for tests of its users: it can fail, lose everything and go back in
/// time. Thread-safe.
class FakeControlStore final : public ControlStore {
 public:
  /// The content of the store.
  struct Content {
    std::optional<VersionRef> current{};
    std::map<VersionId, Version> versions{};
    std::vector<AuditRecord> audit{};
    std::map<std::string, NodeRecord> nodes{};
    RecordTable records{};
  };

  /// `clock` must outlive it.
  explicit FakeControlStore(const Clock& clock) : clock_(clock) {}

  /// All calls fail with this error; nothing: they work again.
  void SetFailure(std::optional<Error> error);
  /// Commits and writes of records happen, but their result is this error; nothing: they answer
  /// again.
  void SetCommitAnswer(std::optional<Error> error);
  [[nodiscard]] Content GetContent() const;
  void SetContent(Content content);
  [[nodiscard]] int version_reads() const;
  [[nodiscard]] int record_reads() const;

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
  using PrepareRecords = std::function<RecordTable::Plan(const RecordTable&)>;
  Result<RecordWriteResult> ApplyRecords(const PrepareRecords& prepare, bool is_restore,
                                         const AuditEvent& event);
  const AuditRecord& AppendLocked(const AuditEvent& event);

  const Clock& clock_;
  Notifier notifier_;
  mutable std::mutex mutex_;  ///< Guards all that follows.
  std::optional<Error> failure_;
  std::optional<Error> commit_answer_;
  Content content_;
  NodeReports reports_;
  int version_reads_ = 0;
  int record_reads_ = 0;
};

}  // namespace sluice::control::testing
