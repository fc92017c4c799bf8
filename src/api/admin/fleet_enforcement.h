#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "limiter/limiter.h"

namespace sluice::api {

/// The id of the record that sets the enforcement of all servers.
inline constexpr std::string_view kFleetEnforcementId = "fleet";

/// The content of that record.
struct FleetEnforcement {
  limiter::Enforcement enforcement = limiter::Enforcement::kOn;
  std::string author{};
  std::string message{};  ///< The author's reason; may be empty.
};

/// As JSON, with all its members.
[[nodiscard]] std::string ToJson(const FleetEnforcement& fleet);
/// Nothing if the text is something else.
[[nodiscard]] std::optional<FleetEnforcement> ParseFleetEnforcement(std::string_view json);

/// Nothing: no such name.
[[nodiscard]] std::optional<limiter::Enforcement> ParseEnforcement(std::string_view name);

}  // namespace sluice::api
