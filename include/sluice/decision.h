#pragma once

#include <cstdint>

#include <sluice/limit.h>
#include <sluice/time.h>

namespace sluice {

/// How a limit takes part in a call.
enum class Mode : std::uint8_t {
  kEnforce,
  kShadow,  ///< Judged apart: never denies, takes only if the call passes and it would allow it.
  kForce,   ///< Never denies; takes even below zero. For usage that is known only afterwards.
  kQuota,  ///< Denies only if all of the call's quotas would; takes if the call passes and it fits.
};

enum class Outcome : std::uint8_t {
  kAllowed,
  kDenied,     ///< Not now; the same call succeeds after `retry_after`.
  kNeverFits,  ///< The cost is more than the limit can ever hold: waiting does not help.
};

/// The result of one limit for one call.
struct Verdict {
  Outcome outcome = Outcome::kAllowed;
  std::int64_t limit = 0;      ///< The most that the limit holds.
  std::int64_t remaining = 0;  ///< Units left after this call; never below zero.
  /// Zero if allowed. Else the first moment at which the same call succeeds without other calls
  /// (for concurrency, at the latest); kMaxWait if it never fits.
  Micros retry_after{0};
  Micros reset_after{0};  ///< Until the limit is as if never used.
  Micros delay{0};        ///< Leaky bucket: how long an allowed caller must wait before going on.

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// The amount that a call consumed and its window, for a later refund or settlement.
/// Good for one refund or settlement. Default-made, it took nothing.
struct Receipt {
  std::int64_t amount = 0;      ///< Taken from the limit itself.
  std::int64_t from_grant = 0;  ///< Taken from a grant, which is spent first.
  WallTime at{};                ///< Windows: where the window begins. Else: when it was taken.
  std::uint64_t slot = 0;       ///< Concurrency: the slot's id.
  WallTime grant_expires{};     ///< When a part of that grant expires; zero: none of it does.

  friend bool operator==(const Receipt&, const Receipt&) = default;
};

/// One limit's part in a decision.
struct LimitStatus {
  Verdict verdict;
  Receipt receipt;
};

/// The result of one check. `tightest` is the verdict to show a caller: of a denial the limit with
/// the longest wait, else the limit that fewest further calls like this one fit in.
struct Decision {
  bool allowed = false;
  bool degraded = false;    ///< The store failed; the limit's failure mode decided.
  std::uint16_t index = 0;  ///< The limit of the call that `tightest` is about.
  Verdict tightest{};
};

}  // namespace sluice
