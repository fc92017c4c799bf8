#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
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
#include "control/disk/state_directory.h"
#include "control/follower.h"
#include "control/last_good.h"
#include "control/rule_service.h"
#include "net/loop.h"
#include "net/timer.h"
#include "server/shared.h"
#include "server/shared_work.h"

namespace sluice::server {

/// The control plane of a server whose rules come from a store (rules_source=store): the store, the
/// thread that follows it, the rule service and the threads that run its requests.
///
/// Thread-safe, except Open, Start and Stop.
class RuleAuthority {
 public:
  /// Chooses and opens the store. `shared`, with its settings and its Redis options in place, and
  /// the main loop, on whose thread this is called, must outlive it. Fails with kInvalidOptions.
  static Result<std::unique_ptr<RuleAuthority>> Open(Shared& shared, net::Loop& main);
  ~RuleAuthority();
  RuleAuthority(const RuleAuthority&) = delete;
  RuleAuthority& operator=(const RuleAuthority&) = delete;

  /// Loads the rules, which takes a few seconds at most, and follows the store from then on.
  /// `address` is that of this node's HTTP listener; `describe` completes the node's record. Fails
  /// with kInvalidRules if there are no rules because the rule file, the seed, has errors.
  Result<bool> Start(std::string address, std::function<void(control::NodeRecord&)> describe);
  /// Ends requests that wait for nodes. From any thread.
  void EndWaits();
  /// Waits so long at most for requests under way. False: one has not ended.
  [[nodiscard]] bool TryStop(Micros timeout);
  /// Waits for requests under way, and removes this node from the store.
  void Stop();

  /// Reads the store's current version now. Blocks.
  LoadReport Reload();
  /// Makes the text of an earlier version the current one again, given the number under which this
  /// process had it active (Live::Versions). Blocks.
  LoadReport RollBack(std::uint64_t live_number, const control::Origin& origin);
  /// Appends to the audit log, later. A record that can't be written is logged.
  void Audit(control::Origin origin, std::string action, std::string target);

  /// Runs a task: see api::RuleTasks.
  void Run(api::TaskKind kind, net::Loop& caller, std::function<void(api::ControlServices&)> task,
           std::function<void(bool ran)> done);

  [[nodiscard]] control::SyncStats Stats() const { return follower_->Stats(); }
  [[nodiscard]] SteadyTime started() const { return started_; }
  /// "state directory ./sluice-state, version 1.17", for people.
  [[nodiscard]] std::string Describe() const;
  [[nodiscard]] api::Condition Condition() const;

 private:
  using Task = std::shared_ptr<std::function<void(api::ControlServices&)>>;
  using TaskThreads = SharedWork<Task, bool>;

  RuleAuthority(Shared& shared, net::Loop& main);
  Result<bool> OpenStore();
  void ReadSeed();
  control::LoadReport Activate(const control::Version& version);
  void Log(const control::SyncEvent& event);
  void AskAudits(std::function<void(api::ControlServices&)> task);
  void LogNewestAuditHash();
  [[nodiscard]] std::optional<control::VersionId> FindActivated(std::uint64_t live_number);
  [[nodiscard]] control::ChangeImpact EvaluateImpact(const match::RuleSet& before,
                                                     const match::RuleSet& after,
                                                     std::size_t live_nodes) const;

  Shared& shared_;
  net::Loop& main_;
  const std::string node_id_;
  const SteadyTime started_ = SteadyClock::Now();
  std::string place_;                                   ///< Of the versions, for people.
  std::unique_ptr<control::StateDirectory> directory_;  ///< Null: it can't be used, with Redis.
  std::unique_ptr<control::LastGoodCopy> copy_;         ///< Null: none is kept.
  std::unique_ptr<control::ControlStore> store_;
  std::optional<std::string> seed_;
  std::vector<std::string> seed_errors_;  ///< Why the rule file is no seed.
  std::unique_ptr<control::RuleService> service_;
  std::unique_ptr<control::Follower> follower_;

  std::mutex activated_mutex_;
  /// Numbers in Live, and the versions that they are; the newest last. Guarded by the mutex.
  std::vector<std::pair<std::uint64_t, control::VersionId>> activated_;

  std::unique_ptr<TaskThreads> reads_;
  std::unique_ptr<TaskThreads> changes_;
  std::unique_ptr<TaskThreads> waits_;
  std::unique_ptr<TaskThreads> audits_;
  std::atomic<std::uint64_t> logged_audit_{0};  ///< The sequence number that was logged last.
  net::Timer audit_timer_;
};

/// The tasks of one loop.
class LoopRuleTasks final : public api::RuleTasks {
 public:
  LoopRuleTasks(RuleAuthority& authority, net::Loop& loop) : authority_(authority), loop_(loop) {}

  void Run(api::TaskKind kind, std::function<void(api::ControlServices&)> task,
           std::function<void(bool ran)> done) override {
    authority_.Run(kind, loop_, std::move(task), std::move(done));
  }

 private:
  RuleAuthority& authority_;
  net::Loop& loop_;
};

}  // namespace sluice::server
