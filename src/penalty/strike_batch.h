#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sluice/time.h>

#include "base/owned_key.h"
#include "limiter/limiter.h"
#include "penalty/loop_strikes.h"

namespace sluice::penalty {

/// Why a caller is penalized.
enum class OffenseKind : std::uint8_t { kDenials, kIgnoredBackoff };

/// A caller that passed a threshold.
struct Offense {
  Strike strike{};
  OffenseKind kind = OffenseKind::kDenials;
  /// Of the penalties before it, as the node that counted knew them: see StrikeKey.
  std::uint64_t offenses = 0;
};

/// A strike to be counted, and how often its caller was penalized before.
struct CountedStrike {
  Strike strike{};
  std::uint64_t offenses = 0;
};

/// The result of a batch.
struct StrikeOutcome {
  std::vector<Offense> offenses{};
  std::size_t failed = 0;  ///< Strikes that the store did not count.
};

/// The key under which the strikes of an offense were counted, and its limit.
struct StrikeCounter {
  OwnedKey key{};
  Limit limit;
};
/// Returns the counters of an offense. They are void once there is a penalty; a reset lets a caller
/// begin anew whose penalty was removed.
[[nodiscard]] std::vector<StrikeCounter> CountersOf(const CountedStrike& counted);

/// Counts strikes in the store: for each threshold a limit, whose key names the penalty and the
/// number of penalties before it. So strikes from before a penalty never count after it, even those
/// of nodes that learn late of it. Runs on the thread of one event loop; made by any thread, and
/// owns itself until all is answered.
class StrikeBatch : public std::enable_shared_from_this<StrikeBatch> {
 public:
  /// `done` runs on the loop's thread.
  StrikeBatch(std::vector<CountedStrike> strikes, std::function<void(StrikeOutcome)> done);

  /// On the loop's thread, once.
  void Run(limiter::Limiter& limiter, WallTime now);

 private:
  struct Count {
    StrikeBatch& batch;
    std::size_t strike = 0;
    OffenseKind kind = OffenseKind::kDenials;
    limiter::CheckRequest check{};
  };

  void Take(const Count& count);
  void Done();

  std::vector<CountedStrike> strikes_;
  std::deque<Count> counts_;
  std::vector<bool> is_offense_;
  std::size_t undone_ = 0;
  StrikeOutcome outcome_;
  std::function<void(StrikeOutcome)> done_;
  std::shared_ptr<StrikeBatch> self_;
};

}  // namespace sluice::penalty
