#include "server/enforcement_switch.h"

#include "api/admin/fleet_enforcement.h"

namespace sluice::server {

void EnforcementSwitch::Set(limiter::Enforcement enforcement) {
  const std::lock_guard lock(mutex_);
  own_ = enforcement;
  Use(enforcement, "this server");
}

void EnforcementSwitch::Apply(const control::RecordChanges& changes) {
  std::optional<limiter::Enforcement> fleet;
  bool found = changes.complete;
  for (const control::Record& record : changes.records) {
    if (record.id != api::kFleetEnforcementId) continue;
    found = true;
    const auto parsed = record.removed ? std::nullopt : api::ParseFleetEnforcement(record.text);
    fleet = parsed ? std::optional(parsed->enforcement) : std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  // A restored record that is the same as before is no change.
  if (!found || (changes.complete && fleet == fleet_)) return;
  fleet_ = fleet;
  Use(fleet.value_or(own_), fleet ? "all servers" : "this server");
}

void EnforcementSwitch::Use(limiter::Enforcement enforcement, std::string_view scope) {
  shared_.settings.enforcement.store(enforcement, std::memory_order_relaxed);
  shared_.log.Write(telemetry::LogLevel::kWarn, "enforcement switched",
                    {{"to", LabelOf(enforcement)}, {"for", scope}});
}

}  // namespace sluice::server
