#pragma once

#include <optional>
#include <string>

#include <sluice/time.h>

#include "rules/model.h"

namespace sluice::rules {

/// Returns the reason why no caller with an address could pass, now or while a scheduled rule
/// applies; or nothing. Only certain cases are reported:
/// - `deny` contains all IPv4 and all IPv6 addresses;
/// - nothing is on `allow`, and an enforced rule without conditions, whose budget every call has
///   (`per` is empty, absent or the address, or calls without it are denied), rejects all its
///   calls, for every tier, override and group of a rollout, and no earlier `final` rule admits any
///   call;
/// - nothing is on `allow`, `default` is `deny`, and every enabled rule rejects all its calls, or
///   there is none.
/// Rules and limits that have expired don't count.
[[nodiscard]] std::optional<std::string> FindRejectAll(const RuleFile& file, WallTime now);

}  // namespace sluice::rules
