#pragma once

#include <cstdint>

#include <sluice/limit.h>

namespace sluice::limiter {

/// The share of a limit that one of several servers may allow by itself, so that all together stay
/// within the limit: its capacity and its rate divided by their number, rounded down. But at least
/// 1, so that no key is shut out: with more servers than the limit allows calls, together they
/// allow more.
[[nodiscard]] Limit ShareOf(const Limit& limit, std::uint32_t servers);

}  // namespace sluice::limiter
