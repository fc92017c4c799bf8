#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "control/audit.h"
#include "control/node.h"
#include "control/record.h"
#include "control/version.h"

namespace sluice::control {

struct CommitResult {
  bool committed = false;  ///< False: another version than the expected one is current.
  VersionRef current{};    ///< Afterwards.
  /// Whether a replica has it; not set if the store has no replicas.
  std::optional<bool> replicated{};
};

/// The positions that a node compares with its own.
struct StoreHead {
  std::optional<VersionRef> version{};  ///< Nothing: the store has no versions.
  RecordCursor records{};               ///< Sequence number 0: it has no records.
  WallTime now{};                       ///< The store's time.
};

/// Where versions of the rules, records, the audit log and the list of nodes are stored.
///
/// Functions block until the store has answered, for a bounded time; they are called from worker
/// threads, never from event loops. Thread-safe. Errors: kStoreUnavailable and kStoreTimeout if
/// the store could not be reached or did not answer (after a timeout a write may have happened: the
/// caller reads the current version to find out), kStoreError if it refused (no permission,
/// read-only, out of memory, disk full).
class ControlStore {
 public:
  virtual ~ControlStore() = default;

  /// Reads the current version's identity; nothing: the store is empty.
  virtual Result<std::optional<VersionRef>> ReadCurrent() = 0;
  /// Reads the current version's identity, the position of the newest record and the time, in one
  /// call.
  virtual Result<StoreHead> ReadHead() = 0;
  /// Reads one version; nothing: it is not kept. With epoch 0, the newest with that number.
  virtual Result<std::optional<Version>> ReadVersion(const VersionId& id) = 0;
  /// Lists the kept versions, the newest first.
  virtual Result<std::vector<VersionInfo>> ListVersions() = 0;

  /// Makes `version` the current one if `expected` (nothing: an empty store) is still current, and
  /// appends `event` to the audit log, in one step. Notifies all nodes.
  virtual Result<CommitResult> Commit(const Version& version,
                                      const std::optional<VersionRef>& expected,
                                      const AuditEvent& event) = 0;

  /// Writes all of these records or none, and appends `event` to the audit log, in one step; an
  /// event without an action is not recorded. Notifies all nodes. Errors as above, and those of
  /// FindRecordProblem.
  virtual Result<RecordWriteResult> WriteRecords(std::span<const RecordWrite> writes,
                                                 const AuditEvent& event) = 0;
  /// Reads at most `count` records (kMaxRecordsPerPage at most) that were written after `after`. A
  /// cursor that is not in the store's history, or too old, starts a snapshot of all records.
  virtual Result<RecordPage> ReadRecords(const RecordCursor& after, std::size_t count) = 0;
  /// Replaces all records by these, if the store is still at `expected`. They get new sequence
  /// numbers in the epoch of `base`, after its sequence number, and keep their times. For stores
  /// that lost their past.
  virtual Result<RecordWriteResult> RestoreRecords(std::span<const Record> records,
                                                   const RecordCursor& expected,
                                                   const RecordCursor& base,
                                                   const AuditEvent& event) = 0;

  /// Replaces the node's report of this name, which vanishes after `ttl`.
  virtual Result<bool> WriteNodeReport(std::string_view name, const NodeReport& report,
                                       Micros ttl) = 0;
  /// Reads the reports of this name of all nodes, by node.
  virtual Result<std::vector<NodeReport>> ReadNodeReports(std::string_view name) = 0;

  /// Appends to the audit log.
  virtual Result<AuditRecord> AppendAudit(const AuditEvent& event) = 0;
  /// Reads at most `count` records with sequence numbers below `before` (0: from the newest), the
  /// newest first.
  virtual Result<std::vector<AuditRecord>> ReadAudit(std::uint64_t before, std::size_t count) = 0;

  /// Publishes this process's record, and returns the store's time.
  virtual Result<WallTime> WriteNode(const NodeRecord& node) = 0;
  /// Removes the record of a process that shuts down.
  virtual Result<bool> RemoveNode(const std::string& id) = 0;
  /// Lists all nodes that were seen within kNodeListed.
  virtual Result<std::vector<NodeRecord>> ListNodes() = 0;
  /// Returns the store's time, by which nodes and schedules are compared.
  virtual Result<WallTime> Now() = 0;

  /// Sets the callback for notifications of a commit, which are hints: any may be lost. It runs on
  /// a thread of the store's or of a caller's, and must only wake another thread. Set before the
  /// first call of any other function; empty: none from now on, and none is running.
  virtual void OnNotification(std::function<void()> callback) = 0;
};

}  // namespace sluice::control
