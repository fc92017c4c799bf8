#pragma once

#include <cstdint>
#include <optional>

#include <sluice/time.h>

#include "rules/penalty.h"

namespace sluice::penalty {

/// The last penalty of a caller.
struct PastPenalty {
  std::uint32_t step = 1;      ///< 1: the first.
  std::uint64_t offenses = 1;  ///< So far.
  WallTime until{};            ///< Its end.
};

struct NextPenalty {
  std::uint32_t step = 1;
  std::uint64_t offenses = 1;
  WallTime until{};
  WallTime forgotten_at{};  ///< From then on, an offense is as the first.
};

/// Returns the penalty of an offense at `now`; nothing while the last one lasts: an offense is
/// punished once. The step is one more than the last, one less for each `forget` since its end, and
/// at most the number of steps. `random` chooses the jitter.
[[nodiscard]] std::optional<NextPenalty> PenaltyAfter(const std::optional<PastPenalty>& past,
                                                      const rules::Penalty& penalty, WallTime now,
                                                      std::uint64_t random);

}  // namespace sluice::penalty
