#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "control/control_store.h"
#include "control/notifier.h"

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
  };

  /// `clock` must outlive it.
  explicit FakeControlStore(const Clock& clock) : clock_(clock) {}

  /// All calls fail with this error; nothing: they work again.
  void SetFailure(std::optional<Error> error);
  /// Commits happen, but their result is this error; nothing: they answer again.
  void SetCommitAnswer(std::optional<Error> error);
  [[nodiscard]] Content GetContent() const;
  void SetContent(Content content);
  [[nodiscard]] int version_reads() const;

  Result<std::optional<VersionRef>> ReadCurrent() override;
  Result<std::optional<Version>> ReadVersion(const VersionId& id) override;
  Result<std::vector<VersionInfo>> ListVersions() override;
  Result<CommitResult> Commit(const Version& version, const std::optional<VersionRef>& expected,
                              const AuditEvent& event) override;
  Result<AuditRecord> AppendAudit(const AuditEvent& event) override;
  Result<std::vector<AuditRecord>> ReadAudit(std::uint64_t before, std::size_t count) override;
  Result<WallTime> WriteNode(const NodeRecord& node) override;
  Result<bool> RemoveNode(const std::string& id) override;
  Result<std::vector<NodeRecord>> ListNodes() override;
  Result<WallTime> Now() override;
  void OnNotification(std::function<void()> callback) override;

 private:
  const AuditRecord& AppendLocked(const AuditEvent& event);

  const Clock& clock_;
  Notifier notifier_;
  mutable std::mutex mutex_;  ///< Guards all that follows.
  std::optional<Error> failure_;
  std::optional<Error> commit_answer_;
  Content content_;
  int version_reads_ = 0;
};

}  // namespace sluice::control::testing
