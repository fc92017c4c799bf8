#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "base/clock.h"
#include "control/control_store.h"
#include "control/last_good.h"
#include "control/record_table.h"
#include "control/sync_event.h"

namespace sluice::control {

/// Records that changed on this node, for those who build their state from them.
struct RecordChanges {
  /// `records` are all records, without removed ones: whatever was known before is void.
  bool complete = false;
  std::vector<Record> records{};  ///< Expired ones are `removed`.
  RecordCursor cursor{};
};

struct RecordStats {
  bool up = true;            ///< The last read of records succeeded.
  bool from_copy = false;    ///< They are those of the copy on disk.
  std::string last_error{};  ///< Empty while up.
  std::size_t records = 0;   ///< Also those that have expired and are not removed yet.
  RecordCursor cursor{};
  std::uint64_t deliveries = 0;
  std::uint64_t restores = 0;  ///< How often this node restored lost records.
};

struct RecordSyncHooks {
  std::function<void(const RecordChanges&)> on_changes{};  ///< May be empty.
  std::function<void(const SyncEvent&)> on_event{};        ///< Required.
  std::function<std::uint64_t()> random{};                 ///< Required.
  std::function<WallTime()>
      wall_now{};  ///< The node's clock, until the store's is known. Required.
};

/// Keeps one node's records the same as those of its control store: the part of RuleSync that is
/// about records.
///
/// A store that lost writes which this node has seen is restored: after RuleSync::kRestoreWait, the
/// live node with the newest position merges its records with those that the store has, and stores
/// the result, by compare-and-swap, in a new epoch. The copy of a starting node is used in this way
/// only if the store has no records at all. Until then the records stay as they are.
///
/// Expired records are reported as removed when their time has come, and removed from the store by
/// one of the nodes later, with an audit record.
///
/// One thread; Find, List, Stats, IsBehind and waits from any.
class RecordSync {
 public:
  /// The shortest time between two calls of on_changes.
  static constexpr Micros kMinDeliveryInterval = std::chrono::milliseconds(100);
  static constexpr Micros kRestoreWait = std::chrono::milliseconds(1200);

  /// `store` and `copy` (null: none is kept) must outlive this.
  RecordSync(ControlStore& store, LastGoodCopy* copy, std::string node, std::string address,
             RecordSyncHooks hooks);

  /// Does what is due, given the store's head. Returns when the next step is due; nothing: with the
  /// next read.
  std::optional<SteadyTime> Step(const StoreHead& head, SteadyTime now);
  /// The same while the store can't be read.
  std::optional<SteadyTime> StepWithoutStore(SteadyTime now);
  /// Fills in the fields about records.
  void Describe(NodeRecord& node) const;

  [[nodiscard]] std::optional<Record> Find(RecordKind kind, std::string_view id) const;
  /// Lists at most `limit` records of a kind after this id that pass the filter (empty: all), in
  /// the order of their ids. Without expired ones.
  [[nodiscard]] std::vector<Record> List(RecordKind kind, std::string_view after, std::size_t limit,
                                         const std::function<bool(const Record&)>& filter) const;
  [[nodiscard]] RecordStats Stats() const;
  /// Returns whether a store with this position has lost records that this node has seen.
  [[nodiscard]] bool IsBehind(const RecordCursor& head) const;
  /// Waits until the changes up to a position were delivered. False: they were not, in time.
  bool AwaitDelivery(const RecordCursor& cursor, Micros timeout);
  /// Ends all waits.
  void StopWaits();

 private:
  std::optional<SteadyTime> Synchronize(const RecordCursor& head, SteadyTime now);
  std::optional<SteadyTime> Finish(std::optional<SteadyTime> next, SteadyTime now);
  [[nodiscard]] bool IsLoss(const RecordCursor& head) const;
  void LoadCopy();
  std::optional<Error> ReadChanges(bool& diverged);
  Result<RecordTable> ReadTable();
  void Take(RecordTable table);
  void Apply(const std::vector<Record>& records, const RecordCursor& cursor);
  std::optional<SteadyTime> HandleLoss(const RecordCursor& head, SteadyTime now);
  Result<bool> IsOurTurn(const RecordCursor& head);
  std::optional<Error> Restore();
  void CollectExpired();
  void Purge(SteadyTime now);
  std::optional<SteadyTime> Deliver(SteadyTime now);
  void SaveCopy(const std::vector<Record>& changes, bool complete);
  void SetError(const std::optional<Error>& error);
  [[nodiscard]] WallTime StoreTime(SteadyTime now) const;

  ControlStore& store_;
  LastGoodCopy* const copy_;
  const std::string node_;
  const std::string address_;
  const RecordSyncHooks hooks_;

  mutable std::mutex mutex_;  ///< Guards what follows; this thread reads table_ without it.
  std::condition_variable delivery_;
  RecordTable table_;
  RecordCursor delivered_;
  WallTime listed_at_{};  ///< The store's time after the last step.
  bool stopped_ = false;
  RecordStats stats_;

  bool from_copy_ = false;
  bool copy_loaded_ = false;
  bool copy_failed_ = false;
  std::optional<SteadyTime> lost_since_;
  std::optional<SteadyTime> purge_at_;
  Micros store_offset_{0};  ///< The store's time minus the steady one.
  bool knows_store_time_ = false;
  WallTime now_{};            ///< The store's, in this step.
  WallTime expired_until_{};  ///< Records that expired before were reported.
  bool pending_complete_ = false;
  std::map<std::string, Record> pending_;  ///< Changes that are not delivered yet.
  std::optional<SteadyTime> last_delivery_;
};

}  // namespace sluice::control
