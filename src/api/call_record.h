#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <sluice/rules.h>

#include "api/denial_id.h"
#include "api/peer.h"
#include "limiter/check_request.h"
#include "telemetry/loop_insight.h"

/// From a decided check to what operators see of it.
namespace sluice::api {

/// The rule of limits that requests bring themselves.
inline constexpr std::string_view kRequestRule = "_request";

/// The active rules, as records and ids of denials name them.
struct RulesMark {
  std::uint64_t number = 0;       ///< Of the version: see Live.
  std::uint32_t fingerprint = 0;  ///< See ShortFingerprint.
};

/// Room for the attributes of a record.
using RecordAttributes = std::array<Attribute, 32>;

/// Returns the record of a decided check, but for what AddAttributes adds; it points to the check.
[[nodiscard]] telemetry::DecisionRecord RecordOf(Protocol protocol,
                                                 const limiter::CheckRequest& check, WallTime now,
                                                 std::uint64_t rules);
/// Adds the check's attributes, in `room`, and whether its key is secret.
void AddAttributes(const limiter::CheckRequest& check, RecordAttributes& room,
                   telemetry::DecisionRecord& record);

/// Whether a limit denied the check: then it has an id.
[[nodiscard]] bool IsDeniedByLimit(const limiter::CheckRequest& check);
[[nodiscard]] DenialFacts FactsOf(const telemetry::DecisionRecord& record,
                                  std::uint32_t rules_fingerprint);

/// Counts the consumers of a decided check, and records it if it is one of the denied or allowed
/// calls that are to be recorded. Allocates nothing.
void RecordCall(telemetry::LoopInsight& insight, Protocol protocol,
                const limiter::CheckRequest& check, WallTime now, std::uint64_t rules);

}  // namespace sluice::api
