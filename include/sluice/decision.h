#pragma once

#include <cstdint>

#include <sluice/limit.h>
#include <sluice/time.h>

namespace sluice {

/// The role of a limit in a call.
enum class Mode : std::uint8_t {
  kEnforce,
  kShadow,  ///< Evaluated separately: never denies; consumes only if the call passes and it would
            ///< allow it.
  kForce,   ///< Never denies; consumes even below zero. For usage that is known only afterwards.
  kQuota,   ///< Denies only if all quotas of the call do; consumes if the call passes and it fits.
};

enum class Outcome : std::uint8_t {
  kAllowed,
  kDenied,     ///< The same call succeeds after `retry_after`.
  kNeverFits,  ///< The cost exceeds the limit's capacity: waiting does not help.
};

/// The result of one limit for one call.
struct Verdict {
  Outcome outcome = Outcome::kAllowed;
  std::int64_t limit = 0;      ///< Capacity of the limit.
  std::int64_t remaining = 0;  ///< Units left after this call; never negative.
  /// Zero if allowed; otherwise the time until the same call succeeds without other calls (for
  /// concurrency, an upper bound); kMaxWait if it never fits.
  Micros retry_after{0};
  Micros reset_after{0};  ///< Until the limit is fresh.
  Micros delay{0};        ///< Leaky bucket: how long an allowed caller must wait.

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

/// What a call consumed, and in which window. Valid for one refund or settlement.
/// Default-constructed: nothing was consumed.
struct Receipt {
  std::int64_t amount = 0;      ///< Consumed from the limit itself.
  std::int64_t from_grant = 0;  ///< Consumed from a grant, which is spent first.
  WallTime at{};                ///< Windows: start of the window. Others: time of the call.
  std::uint64_t slot = 0;       ///< Concurrency: the slot's id.
  WallTime grant_expires{};     ///< When a part of that grant expires; zero: none of it does.

  friend bool operator==(const Receipt&, const Receipt&) = default;
};

/// The result of one limit in a decision.
struct LimitStatus {
  Verdict verdict;
  Receipt receipt;
};

/// The result of one check. `tightest` is the verdict to report to a caller: in a denial, of the
/// limit with the longest wait; otherwise of the limit with room for the fewest further calls.
struct Decision {
  bool allowed = false;
  bool degraded = false;    ///< The store failed; the limit's failure mode decided.
  std::uint16_t index = 0;  ///< Index of the limit of `tightest` in the call.
  Verdict tightest{};
};

}  // namespace sluice
