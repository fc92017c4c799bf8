#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/admin/key_services.h"
#include "api/peer.h"
#include "base/live.h"
#include "control/version.h"
#include "identity/authenticator.h"
#include "limiter/limiter.h"
#include "match/rule_set.h"
#include "telemetry/prometheus_text.h"

namespace sluice::api {

class InsightServices;
class RuleTasks;

using telemetry::MetricsFormat;

/// One component of the server's health.
struct Condition {
  std::string name;
  bool ok = true;
  std::string detail;
};

struct Health {
  bool live = true;
  bool ready = true;  ///< False while the server drains, or has no rules yet.
  std::vector<Condition> conditions;
};

/// Interface of the server that sessions call for administration and for reports about the server.
/// One object for each event loop, used on that loop's thread only. The server implements it
/// (server/administration.h).
class AdminServices {
 public:
  virtual ~AdminServices() = default;

  /// Finds the principals of credentials. Sessions call LogIn (api/admin/access.h), which also
  /// counts failures.
  [[nodiscard]] virtual identity::Authenticator& authenticator() = 0;

  [[nodiscard]] virtual Health CheckHealth() = 0;
  [[nodiscard]] virtual Live<match::RuleSet>& rules() = 0;
  [[nodiscard]] virtual limiter::Enforcement enforcement() const = 0;
  virtual void SetEnforcement(limiter::Enforcement enforcement) = 0;
  [[nodiscard]] virtual std::string_view log_level() const = 0;
  /// "error", "warn", "info" or "debug". Returns false for other names.
  virtual bool SetLogLevel(std::string_view level) = 0;
  /// Returns keys and counters of the memory store, as name and value: for INFO.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() = 0;

  /// Runs requests to the control store; null: there is none.
  [[nodiscard]] virtual RuleTasks* rule_tasks() { return nullptr; }
  /// Whether the rules come from the control store, not from a file.
  [[nodiscard]] virtual bool has_stored_rules() const { return true; }

  /// Reports about recent calls; null: there are none.
  [[nodiscard]] virtual InsightServices* insight() { return nullptr; }

  /// Appends an administrator's action, such as "enforcement.set", to the audit log.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): implementations keep them.
  virtual void Audit(control::Origin /*origin*/, std::string /*action*/, std::string /*target*/) {}

  /// Returns when a key was used, as far as this node knows.
  [[nodiscard]] virtual std::optional<store::SeenTimes> FindSeen(const Key& /*key*/) {
    return std::nullopt;
  }
  /// Runs `task` on a worker thread, then `done` in a later turn of this loop. If too many tasks
  /// wait, only `done` runs, with `ran` false. Neither runs if the server stops first.
  virtual void RunKeyTask(KeyTask task, std::function<void(bool ran)> done) = 0;
  /// Logs a request that changes something, such as "PUT" of "/admin/log-level", with its author.
  virtual void LogChange(const control::Origin& /*origin*/, std::string_view /*request*/,
                         std::string_view /*target*/) {}

  // ---- Slow operations: they run on a thread of their own, once for all callers that wait. `done`
  // runs in a later turn of this loop, or never if the server stops first.

  using MetricsDone = std::function<void(const std::shared_ptr<const std::string>& page)>;
  using RulesDone = std::function<void(const std::shared_ptr<const LoadReport>& report)>;

  /// Renders the metrics page in Prometheus' text format.
  virtual void MakeMetrics(MetricsFormat format, MetricsDone done) = 0;
  /// Reads the rule file again.
  virtual void ReloadRules(RulesDone done) = 0;
  /// Activates an earlier version of the rules (Live::Rollback). The report has kRefused if that
  /// version is no longer kept.
  virtual void RollBackRules(std::uint64_t version, control::Origin origin, RulesDone done) = 0;
};

}  // namespace sluice::api
