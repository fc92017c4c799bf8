#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/timed_lock.h"
#include "control/audit.h"
#include "control/change.h"
#include "control/control_store.h"
#include "control/propagation.h"
#include "control/rule_service_options.h"
#include "control/version.h"
#include "rules/difference.h"

namespace sluice::control {

struct ChangeDraft;

/// A difference between two versions.
struct VersionDifference {
  VersionInfo from{};
  VersionInfo to{};
  std::vector<rules::DifferenceRow> rows{};
};

/// Changes the rules in a ControlStore: validates, compares, evaluates and commits. Functions block
/// on the store: for worker threads. Thread-safe. Validation, comparison and replay run one at a
/// time: another request gets kBusy meanwhile, except that a restore waits.
class RuleService {
 public:
  /// `store` must outlive this.
  RuleService(ControlStore& store, RuleServiceOptions options, RuleServiceHooks hooks = {});
  RuleService(const RuleService&) = delete;
  RuleService& operator=(const RuleService&) = delete;

  /// Changes the rules. If the outcome is a failure, nothing is stored.
  ChangeResult Change(const ChangeRequest& request);

  /// Reads the current version; nothing: the store is empty.
  Result<std::optional<Version>> GetCurrent();
  /// Lists the kept versions, the newest first.
  Result<std::vector<VersionInfo>> ListVersions();
  /// Reads a version; nothing: it is not kept. With epoch 0, the newest with that number.
  Result<std::optional<Version>> GetVersion(const VersionId& id);
  /// Compares two versions; nothing: one of them is not kept. kInvalidRules: this build can't read
  /// one of them.
  Result<std::optional<VersionDifference>> Compare(const VersionId& from, const VersionId& to);

  /// Lists all nodes with their states.
  Result<NodeList> ListNodes();
  /// Waits until all live nodes have a version or a later one, for at most `timeout`.
  Result<Propagation> Wait(const VersionRef& version, Micros timeout);
  /// Waits until all live nodes have the records up to this position, for at most `timeout`.
  Result<Propagation> WaitForRecords(const RecordCursor& cursor, Micros timeout);

  /// Reads audit records: see ControlStore. At most kMaxAuditRecordsRead at once.
  Result<std::vector<AuditRecord>> ReadAudit(std::uint64_t before, std::size_t count);
  /// Records an action of an administrator, such as "enforcement.set".
  Result<AuditRecord> AppendAudit(const Origin& origin, std::string action, std::string target,
                                  std::string message = {});

  /// Ends all waits, now and later; for shutdown.
  void Stop();

 private:
  Result<Propagation> WaitUntil(const std::function<Propagation(const NodeList&)>& count,
                                const VersionRef& current, Micros timeout);
  /// One attempt: reads the current version, evaluates, commits. Sets `conflict` if another commit
  /// came first.
  ChangeResult Attempt(const ChangeRequest& request, bool& conflict);
  std::optional<ChangeResult> FindRepeated(const ChangeRequest& request);
  std::optional<ChangeResult> CheckPrecondition(const ChangeRequest& request,
                                                const std::optional<Version>& current);
  void CompareWithNamed(const ChangeRequest& request, const Version& current, ChangeResult& result);
  ChangeResult Commit(const ChangeRequest& request, const std::optional<Version>& current,
                      ChangeDraft& draft, bool& conflict);
  Result<NodeList> ReadNodes(const VersionRef& current);

  ControlStore& store_;
  const RuleServiceOptions options_;
  const RuleServiceHooks hooks_;
  /// Held while a request is evaluated: a dry run or a comparison, a change, a restore. So one of
  /// each is at a time, and none waits for one of another kind.
  TimedLock dry_run_;
  TimedLock change_;
  TimedLock restore_;
  std::mutex stop_mutex_;  ///< Guards what follows.
  std::condition_variable stop_changed_;
  bool stopped_ = false;
};

/// The most audit records that are read at once.
inline constexpr std::size_t kMaxAuditRecordsRead = 1000;

}  // namespace sluice::control
