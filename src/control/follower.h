#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "control/control_store.h"
#include "control/last_good.h"
#include "control/rule_sync.h"

namespace sluice::control {

/// Runs a RuleSync, for rules and records, on a thread of its own: about every second, and at once
/// after a notification by the store. Hooks are called on that thread, and inside Start.
class Follower {
 public:
  /// The longest that Start takes, plus one call to the store.
  static constexpr Micros kStartTimeout = std::chrono::seconds(3);
  /// The shortest time between two reads for notifications: anyone who may publish can send many.
  static constexpr Micros kMinInterval = std::chrono::milliseconds(20);

  /// Takes the store's notifications. `store` and `copy` (null: none is kept) must outlive it.
  Follower(ControlStore& store, LastGoodCopy* copy, SyncOptions options, SyncHooks hooks);
  /// Stops.
  ~Follower();
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  /// Loads rules from the store, or if it can't be reached, from the last good copy; waits a moment
  /// before an empty store is filled. Then starts the thread, whatever it found. Returns the
  /// statistics: `origin` says where the rules are from, and `last_error` why there are none.
  SyncStats Start();
  /// Ends the thread and removes this node's record. Idempotent.
  void Stop();

  /// Reads the store's current version soon. From any thread.
  void Wake();
  /// From any thread.
  [[nodiscard]] SyncStats Stats() const { return sync_.Stats(); }
  /// The records of this node: its functions that are for any thread.
  [[nodiscard]] RecordSync& records() { return sync_.records(); }

 private:
  void Run(SteadyTime next);
  bool WaitUntil(SteadyTime when);
  SteadyTime Step();

  ControlStore& store_;
  RuleSync sync_;
  std::mutex mutex_;
  std::condition_variable changed_;
  SteadyTime last_step_{};  ///< When the last step ended.
  bool woken_ = false;      ///< Guarded by mutex_.
  bool stopping_ = false;   ///< Guarded by mutex_.
  std::thread thread_;
};

}  // namespace sluice::control
