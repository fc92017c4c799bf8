#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/result.h>

#include "api/admin/admin_services.h"
#include "api/admin/rule_tasks.h"
#include "base/clock.h"
#include "base/live.h"
#include "control/control_store.h"
#include "control/disk/disk_store.h"
#include "control/disk/lazy_state_directory.h"
#include "control/entry_service.h"
#include "control/follower.h"
#include "control/last_good.h"
#include "control/record_service.h"
#include "control/rule_service.h"
#include "net/loop.h"
#include "net/timer.h"
#include "server/enforcement_switch.h"
#include "server/shared.h"
#include "server/shared_work.h"
#include "server/stored_rules.h"
#include "server/token_records.h"

namespace sluice::server {

/// The control plane of a server: the store of records, audit log and nodes, and of the versions of
/// the rules if they come from there (rules_source=store); the thread that follows it, the services
/// for requests and the threads that run them.
///
/// Thread-safe, except Open, OnRecords, Start and Stop.
class ControlPlane {
 public:
  /// Chooses and opens the store. `shared`, with its settings and its Redis options in place, and
  /// the main loop, on whose thread this is called, must outlive it. Fails with kInvalidOptions if
  /// the rules come from the store and it can't be opened.
  static Result<std::unique_ptr<ControlPlane>> Open(Shared& shared, net::Loop& main);
  ~ControlPlane();
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;

  /// Adds a callback for changes of records of one kind: at first with all of them, at most ten
  /// times a second. It runs on the thread that follows the store, and inside Start. Before Start.
  void OnRecords(control::RecordKind kind,
                 std::function<void(const control::RecordChanges&)> callback);

  /// Loads records and rules, which takes a few seconds at most, and follows the store from then
  /// on. `address` is that of this node's HTTP listener; `describe` completes the node's record.
  /// Fails with kInvalidRules if there are no rules because the rule file, the seed, has errors.
  Result<bool> Start(std::string address, std::function<void(control::NodeRecord&)> describe);
  /// Ends requests that wait for nodes. From any thread.
  void EndWaits();
  /// Waits so long at most for requests under way. False: one has not ended.
  [[nodiscard]] bool TryStop(Micros timeout);
  /// Waits for requests under way, and removes this node from the store.
  void Stop();

  /// Whether the rules come from the store.
  [[nodiscard]] bool has_rules() const { return rules_ != nullptr; }
  /// Reads the store's current version now. Blocks. Only if it has the rules.
  LoadReport Reload();
  /// Makes the text of an earlier version the current one again, given the number under which this
  /// process had it active (Live::Versions). Blocks. Only if it has the rules.
  LoadReport RollBack(std::uint64_t live_number, const control::Origin& origin);
  /// Appends to the audit log, later. A record that can't be written is logged.
  void Audit(control::Origin origin, std::string action, std::string target);

  /// Runs a task: see api::RuleTasks.
  void Run(api::TaskKind kind, net::Loop& caller, std::function<void(api::ControlServices&)> task,
           std::function<void(bool ran)> done);

  [[nodiscard]] control::SyncStats Stats() const { return follower_->Stats(); }
  /// Repairs of a damaged state directory.
  [[nodiscard]] std::uint64_t repairs() const { return repairs_.load(); }
  /// Records that this node has; see control::RecordService.
  [[nodiscard]] control::RecordService& records() { return *record_service_; }
  [[nodiscard]] EnforcementSwitch& enforcement() { return enforcement_; }
  [[nodiscard]] control::ControlStore& store() { return *store_; }
  [[nodiscard]] const control::EntryService& entries() const { return entries_; }
  [[nodiscard]] const std::string& node_id() const { return node_id_; }
  [[nodiscard]] SteadyTime started() const { return started_; }
  /// "state directory ./sluice-state, version 1.17", for people. Only if it has the rules.
  [[nodiscard]] std::string Describe() const;
  /// The state of the source of the rules, or of the control store alone.
  [[nodiscard]] api::Condition Condition() const;

 private:
  static constexpr std::size_t kTaskKinds = 6;
  using Task = std::shared_ptr<std::function<void(api::ControlServices&)>>;
  using TaskThreads = SharedWork<Task, bool>;
  struct Consumer {
    control::RecordKind kind{};
    std::function<void(const control::RecordChanges&)> callback{};
  };

  ControlPlane(Shared& shared, net::Loop& main);
  Result<bool> OpenStore();
  Result<bool> OpenDiskStore();
  void StartThreads();
  Result<std::string> ReadRuleFile() const;
  void DeliverRecords(const control::RecordChanges& changes);
  void LogDamage(const control::DiskStore& store);
  void Log(const control::SyncEvent& event);
  void AskAudits(std::function<void(api::ControlServices&)> task);
  void LogNewestAuditHash();
  [[nodiscard]] std::vector<TaskThreads*> AllThreads() const;

  Shared& shared_;
  net::Loop& main_;
  const std::string node_id_;
  const SteadyTime started_ = SteadyClock::Now();
  std::string place_;  ///< Of the store, for people.
  control::LazyStateDirectory directory_;
  std::unique_ptr<control::LastGoodCopy> copy_;  ///< Null: none is kept.
  std::unique_ptr<control::ControlStore> store_;
  std::unique_ptr<StoredRules> rules_;  ///< Null: the rules come from a file.
  EnforcementSwitch enforcement_;
  control::EntryService entries_;
  TokenRecords tokens_;
  std::vector<Consumer> consumers_;
  std::atomic<std::uint64_t> repairs_{0};  ///< Of a damaged state directory.
  std::unique_ptr<control::RuleService> service_;
  std::unique_ptr<control::Follower> follower_;
  std::unique_ptr<control::NodeRecordService> record_service_;

  std::array<std::unique_ptr<TaskThreads>, kTaskKinds> tasks_;  ///< By api::TaskKind.
  std::unique_ptr<TaskThreads> audits_;
  std::atomic<std::uint64_t> logged_audit_{0};  ///< The sequence number that was logged last.
  net::Timer audit_timer_;
};

/// The tasks of one loop.
class LoopRuleTasks final : public api::RuleTasks {
 public:
  LoopRuleTasks(ControlPlane& control, net::Loop& loop) : control_(control), loop_(loop) {}

  void Run(api::TaskKind kind, std::function<void(api::ControlServices&)> task,
           std::function<void(bool ran)> done) override {
    control_.Run(kind, loop_, std::move(task), std::move(done));
  }

 private:
  ControlPlane& control_;
  net::Loop& loop_;
};

}  // namespace sluice::server
