#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <sluice/decision.h>

#include "limiter/check_request.h"
#include "match/rule_set.h"
#include "store/store.h"

namespace sluice::limiter {

/// `retry_after` of a denial whose end is unknown: the store does not answer, or has no room.
inline constexpr Micros kRetryAfterUnknown = std::chrono::seconds(1);

/// The decision of an answered check or peek, with the verdict of its tightest limit. Of a denial:
/// the limit with the longest wait. Else: the limit with room for the fewest further calls like
/// this one, and of several such the one that takes longest to reset. Never a shadow limit, nor a
/// limit of a rule that says `headers: false`, unless it denies or there are no others. `matched`
/// has the rules of the limits, or is empty.
Decision DecisionOf(const store::StoreCall& call,
                    std::span<const match::MatchedLimit> matched = {});

/// The denial of a call by one of its limits, because the store failed or has no room.
[[nodiscard]] Decision DenialWithoutStore(std::span<const store::KeyUse> uses, std::size_t index);

/// The decision of a check that the store could not decide: denied by the first limit that fails
/// closed (`fails_closed(i)`, of the i-th use), else allowed.
template <typename FailsClosed>
[[nodiscard]] Decision DecideWithoutStore(std::span<const store::KeyUse> uses,
                                          FailsClosed fails_closed) {
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (fails_closed(i)) return DenialWithoutStore(uses, i);
  }
  return {.allowed = true, .degraded = true};
}

/// Returns the most that a use's limit holds, in the limit's unit.
[[nodiscard]] std::int64_t CapOf(const CheckRequest& check, std::size_t use);

/// Whether a use may be reported to callers: it is not in shadow, and its rule has headers.
[[nodiscard]] bool IsReported(const CheckRequest& check, std::size_t use);

/// The use that the decision is about; null if the call matched no limit, or only limits that are
/// not reported. A rule without headers is reported if it denies.
[[nodiscard]] const store::KeyUse* ReportedUse(const CheckRequest& check);

/// The use that headers are about: the same, but never of a rule without headers, even if it
/// denies; then the tightest of the others.
[[nodiscard]] std::optional<std::size_t> UseInHeaders(const CheckRequest& check);

}  // namespace sluice::limiter
