#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/admin_services.h"
#include "net/loop.h"
#include "server/room_watch.h"
#include "server/rule_authority.h"
#include "server/shared.h"
#include "server/shared_work.h"
#include "server/store_speed.h"
#include "transport/admission.h"
#include "transport/memory_budget.h"

namespace sluice::server {

class Worker;

/// A change of the active rules.
struct RulesTask {
  std::optional<std::uint64_t> roll_back_to{};  ///< A version; not set: the files are read again.
  bool everything = false;                      ///< Also those of identity and certificates.
  control::Origin origin{};                     ///< Of a rollback.
  bool operator==(const RulesTask&) const = default;
};

using MetricsWork = SharedWork<api::MetricsFormat, std::string>;
using RulesWork = SharedWork<RulesTask, LoadReport>;

/// The parts of a server that administration reports about or changes. All are thread-safe, or
/// read only by functions that are. They must outlive the Administration objects.
struct ServerParts {
  Shared& shared;
  const std::vector<std::unique_ptr<Worker>>& workers;
  const transport::Admission& admission;
  const transport::MemoryBudget& memory;
  const StoreSpeed& store_speed;
  const RoomWatch& memory_room;
  const RoomWatch& request_keys_room;
  MetricsWork& metrics_work;
  RulesWork& rules_work;
  RuleAuthority* authority;  ///< Null: the rules come from a file.
};

/// How many event loops are connected to Redis, and the state of their circuit breakers. Not ok
/// does not mean not ready: each rule's failure mode applies meanwhile.
[[nodiscard]] api::Condition RedisCondition(const std::vector<std::unique_ptr<Worker>>& workers);

/// "closed", "open" or "half_open": the worst state of the event loops' circuit breakers.
[[nodiscard]] std::string BreakerState(const std::vector<std::unique_ptr<Worker>>& workers);

/// The administration of a server, for the sessions of one loop.
class Administration final : public api::AdminServices {
 public:
  Administration(net::Loop& loop, const ServerParts& parts);

  [[nodiscard]] bool has_admin_token() const override;
  [[nodiscard]] api::Login CheckToken(std::string_view token, const std::optional<Address>& from,
                                      identity::Lockout lockout) override;
  api::Health CheckHealth() override;
  Live<match::RuleSet>& rules() override { return parts_.shared.rules; }
  [[nodiscard]] limiter::Enforcement enforcement() const override;
  void SetEnforcement(limiter::Enforcement enforcement) override;
  [[nodiscard]] std::string_view log_level() const override;
  bool SetLogLevel(std::string_view level) override;
  std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() override;
  void MakeMetrics(api::MetricsFormat format, MetricsDone done) override;
  void ReloadRules(RulesDone done) override;
  void RollBackRules(std::uint64_t version, control::Origin origin, RulesDone done) override;
  api::RuleTasks* rule_tasks() override { return rule_tasks_ ? &*rule_tasks_ : nullptr; }
  void Audit(control::Origin origin, std::string action, std::string target) override;

 private:
  [[nodiscard]] api::Condition MemoryCondition() const;
  [[nodiscard]] api::Condition RequestKeysCondition() const;
  [[nodiscard]] api::Condition ConnectionMemoryCondition() const;

  net::Loop& loop_;
  const ServerParts parts_;
  std::optional<LoopRuleTasks> rule_tasks_;
};

}  // namespace sluice::server
