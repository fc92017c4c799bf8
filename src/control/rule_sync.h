#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "base/clock.h"
#include "control/control_store.h"
#include "control/last_good.h"
#include "control/node.h"
#include "control/record_sync.h"
#include "control/sync_event.h"
#include "control/version.h"

namespace sluice::control {

/// The result of loading a version: activated, or the reason why this node can't use it.
struct LoadReport {
  bool activated = false;
  std::string error{};
};

/// Where the rules in use came from.
enum class RulesOrigin : std::uint8_t {
  kNone,      ///< No rules yet.
  kStore,     ///< The control store.
  kLastGood,  ///< The copy on disk.
  kSeed,      ///< The rule file; not stored yet.
};

struct SyncOptions {
  NodeRecord node{};                  ///< This node; the fields about versions are filled in.
  std::optional<std::string> seed{};  ///< Valid rules for an empty store.
  bool follow_rules = true;           ///< False: only records are followed.
  Micros interval = std::chrono::seconds(1);  ///< Between reads; ± 10 %.
};

struct SyncHooks {
  /// Compiles and activates a version. Required if rules are followed.
  std::function<LoadReport(const Version&)> activate{};
  /// Completes this node's record (store, breaker) before it is published; may be empty.
  std::function<void(NodeRecord&)> describe_node{};
  std::function<void(const RecordChanges&)> on_records{};  ///< See RecordSync; may be empty.
  std::function<void(const SyncEvent&)> on_event{};        ///< May be empty.
  std::function<std::uint64_t()> random{};                 ///< For jitter; empty: RandomId.
  std::function<WallTime()> wall_now{};                    ///< Empty: the system's clock.
};

/// Times from commits to their activation on this node.
struct PropagationTimes {
  static constexpr std::array<Micros, 8> kBounds{
      std::chrono::milliseconds(10),   std::chrono::milliseconds(25),
      std::chrono::milliseconds(50),   std::chrono::milliseconds(100),
      std::chrono::milliseconds(200),  std::chrono::milliseconds(500),
      std::chrono::milliseconds(1500), std::chrono::seconds(2)};

  std::array<std::uint64_t, kBounds.size() + 1> counts{};  ///< Up to each bound; the last: above.
  Micros sum{0};
  std::optional<Micros> last{};

  void Add(Micros time);
};

struct SyncStats {
  RulesOrigin origin = RulesOrigin::kNone;
  bool up = false;  ///< The last read succeeded.
  std::uint64_t consecutive_failures = 0;
  std::uint64_t failures = 0;
  std::string last_error{};                    ///< Of the last failed read; empty while up.
  std::string publish_error{};                 ///< Why this node is not listed; empty: it is.
  std::optional<SteadyTime> last_good_read{};  ///< Of the pointer.
  VersionRef active{};                         ///< Number 0: none, or a seed that is not stored.
  VersionRef rejected{};
  std::string rejected_error{};
  std::uint64_t restores = 0;  ///< How often this node restored lost versions.
  PropagationTimes propagation{};
  RecordStats records{};
};

/// Keeps one node's rules the same as the current version of its control store, and its records the
/// same as the store's (record_sync.h): the logic, one step at a time, without a thread or a clock
/// (follower.h has both).
///
/// A step reads the store's head, in one call. A later version is loaded and activated, this node's
/// record is published, and the copy on disk replaced. A version that can't be used is not tried
/// again. While the store is away the rules stay as they are.
///
/// A store that lost versions (no pointer, an earlier one, or the same number with another hash) is
/// given kRestoreWait, so that all live nodes publish their records to it. Then the node with the
/// newest version stores it again, by compare-and-swap, as a version of a new epoch. The same
/// happens with the last good copy of a starting node if the store is empty and no live node has
/// followed it; only then the seed is used. A copy on disk never replaces a version in the store,
/// which may be another one than before.
///
/// One thread; Stats from any.
class RuleSync {
 public:
  static constexpr Micros kRestoreWait = RecordSync::kRestoreWait;

  /// `store` and `copy` (null: none is kept) must outlive this.
  RuleSync(ControlStore& store, LastGoodCopy* copy, SyncOptions options, SyncHooks hooks);

  /// Does what is due, and returns when the next step is; one after a notification may come sooner.
  SteadyTime Step(SteadyTime now);
  /// Whether there are rules, or it is clear that there are none for now.
  [[nodiscard]] bool settled() const { return settled_; }
  /// Removes this node's record.
  void Leave();

  [[nodiscard]] SyncStats Stats() const;
  [[nodiscard]] RecordSync& records() { return records_; }

 private:
  enum class Candidate : std::uint8_t { kNone, kFollowed, kCopy, kSeed };

  SteadyTime Synchronize(SteadyTime now);
  SteadyTime SynchronizeRules(const std::optional<VersionRef>& found, SteadyTime now);
  SteadyTime OnReadFailure(const Error& error, SteadyTime now);
  bool Take(const VersionRef& ref, SteadyTime now);
  bool Activate(const Version& version, RulesOrigin origin);
  bool IsLaterCommit(const VersionRef& found);
  void LoadCopy();
  void LoadSeed();
  SteadyTime HandleLoss(const std::optional<VersionRef>& found, SteadyTime now);
  [[nodiscard]] Candidate FindCandidate() const;
  Result<bool> IsOurTurn(Candidate candidate);
  SteadyTime Restore(Candidate candidate, const std::optional<VersionRef>& found, SteadyTime now);
  void Publish();
  void SaveCopy();
  void Report(SyncEventKind kind, const VersionRef& version, std::string message);
  void CountRead(const std::optional<Error>& error, SteadyTime now);
  [[nodiscard]] std::uint64_t Random() const;
  [[nodiscard]] SteadyTime NextRead(SteadyTime now) const;

  ControlStore& store_;
  LastGoodCopy* const copy_;
  const SyncOptions options_;
  const SyncHooks hooks_;

  RulesOrigin origin_ = RulesOrigin::kNone;
  std::optional<Version> active_;
  WallTime active_since_{};
  std::optional<VersionRef>
      followed_;  ///< The store's version that was activated or rejected last.
  VersionRef rejected_{};
  std::string rejected_error_;
  std::optional<SteadyTime> lost_since_;
  bool copy_loaded_ = false;
  bool settled_ = false;
  bool seed_reported_ = false;
  RecordSync records_;

  mutable std::mutex mutex_;
  SyncStats stats_;  ///< Guarded by mutex_.
};

}  // namespace sluice::control
