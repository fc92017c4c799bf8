#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "control/control_store.h"
#include "control/notifier.h"
#include "redis/blocking_client.h"
#include "redis/options.h"
#include "redis/subscription.h"

namespace sluice::control {

struct RedisControlOptions {
  redis::Options redis{};
  std::string name = "default";              ///< Of the fleet: two at one Redis need two names.
  Micros timeout = std::chrono::seconds(1);  ///< Of each call to Redis.
  /// Reports that notifications are refused: versions are then found by reading only. Runs on the
  /// store's thread; may be empty.
  std::function<void(std::string_view error)> on_notifications_refused{};
};

/// The control store of a fleet, in Redis: one server, Sentinel or Cluster. Its keys are in one
/// slot, `sluice:v1:control:{<name>}:` and then:
///
///     current     string   "1 <epoch>.<number> <hash>"; 1 is the format
///     versions    hash     id → "<nonce> <version record>"
///     texts       hash     id → text
///     ids         list     ids of the kept versions, in order
///     audit       list     audit records, in order
///     nodes       hash     node → "<last seen, µs> <node record>"
///     seen        zset     node → last seen, µs
///     state       hash     of the records: format, epoch, sequence, time, floor, counts; the batch
///     records     hash     "<kind>:<id>" → record (record_scripts.h)
///     changes     zset     "<kind>:<id>" → sequence number, also of removed records
///     removed     zset     "<kind>:<id>" → sequence number, of the removed records that are kept
///     writes      zset     "<sequence>:<time>:<nonce>" → sequence number, of the last writes
///     staged:<nonce>  list  the writes of a batch that are not stored yet (record_scripts.h)
///     report:<name>, report:<name>:expiry   hash, zset   reports of nodes
///
/// A commit, or a write of records, is one script, or for many records a batch of several. It is
/// never sent twice; if its reply is lost, the nonce shows whether it has happened. Times are those
/// of Redis. A commit publishes the version's number on the channel `sluice:v1:control:{<name>}`.
class RedisControlStore final : public ControlStore {
 public:
  explicit RedisControlStore(RedisControlOptions options);
  ~RedisControlStore() override;
  RedisControlStore(const RedisControlStore&) = delete;
  RedisControlStore& operator=(const RedisControlStore&) = delete;

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
  /// Also called at each (re)connect.
  void OnNotification(std::function<void()> callback) override;

  [[nodiscard]] redis::Stats StatsApprox() const { return client_.StatsApprox(); }

 private:
  using Reply = Result<redis::CallResult>;

  Reply Call(std::span<const std::string_view> command);
  Reply Call(std::initializer_list<std::string_view> command);
  /// Runs a script that writes records, given the newest audit record and the next one.
  using SendRecords = std::function<Reply(std::string_view last, const std::string& record)>;
  Result<RecordWriteResult> SendUntilAudited(const AuditEvent& event, std::string_view nonce,
                                             const SendRecords& send);
  Result<RecordWriteResult> WriteBatch(std::span<const RecordWrite> writes,
                                       const AuditEvent& event);
  /// Stores the rest of a batch that has made no progress for this time.
  std::optional<Error> CompleteBatch(std::string_view nonce, Micros idle);
  /// Returns when a batch is complete, or after a while.
  std::optional<Error> AwaitBatch(std::string_view nonce);
  [[nodiscard]] std::string StagedKey(std::string_view nonce) const {
    return channel_ + ":staged:" + std::string(nonce);
  }
  std::optional<RecordCursor> FindWrite(std::string_view nonce);
  Result<std::string> ReadLastRecord();
  Result<std::optional<VersionId>> FindNewest(std::uint64_t number);
  bool HasHappened(const VersionId& id, std::string_view nonce);
  std::optional<bool> AwaitReplica(std::uint64_t connects);
  [[nodiscard]] Error Describe(const Error& error, std::string_view key) const;

  const RedisControlOptions options_;
  const std::string channel_;
  /// Keys.
  const std::string current_, versions_, texts_, ids_, audit_, nodes_, seen_;
  const std::string state_, records_, changes_, removed_, writes_;
  Notifier notifier_;
  redis::BlockingClient client_;
  std::unique_ptr<redis::Subscription> subscription_;  ///< On the client's thread.
};

}  // namespace sluice::control
