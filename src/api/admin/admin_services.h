#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/peer.h"
#include "base/live.h"
#include "base/network.h"
#include "control/version.h"
#include "identity/principal.h"
#include "identity/token_guard.h"
#include "limiter/limiter.h"
#include "match/rule_set.h"
#include "telemetry/prometheus_text.h"

namespace sluice::api {

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

/// The result of showing a token.
struct Login {
  identity::TokenVerdict verdict = identity::TokenVerdict::kWrong;
  identity::PrincipalPointer principal{};  ///< Set with kRight.
};

/// Interface of the server that sessions call for administration and for reports about the server.
/// One object for each event loop, used on that loop's thread only. The server implements it
/// (server/administration.h).
class AdminServices {
 public:
  virtual ~AdminServices() = default;

  [[nodiscard]] virtual bool has_admin_token() const = 0;
  /// Finds the principal of a token. Sessions call LogIn (api/admin/access.h), which also counts
  /// failures.
  [[nodiscard]] virtual Login CheckToken(std::string_view token, const std::optional<Address>& from,
                                         identity::Lockout lockout) = 0;

  [[nodiscard]] virtual Health CheckHealth() = 0;
  [[nodiscard]] virtual Live<match::RuleSet>& rules() = 0;
  [[nodiscard]] virtual limiter::Enforcement enforcement() const = 0;
  virtual void SetEnforcement(limiter::Enforcement enforcement) = 0;
  [[nodiscard]] virtual std::string_view log_level() const = 0;
  /// "error", "warn", "info" or "debug". Returns false for other names.
  virtual bool SetLogLevel(std::string_view level) = 0;
  /// Returns keys and counters of the memory store, as name and value: for INFO.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> StoreNumbers() = 0;

  /// Runs requests to the rule service; null: the rules come from a file.
  [[nodiscard]] virtual RuleTasks* rule_tasks() { return nullptr; }

  /// Appends an administrator's action, such as "enforcement.set", to the audit log if the rules
  /// come from a store.
  virtual void Audit(control::Origin /*origin*/, std::string /*action*/, std::string /*target*/) {}

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
