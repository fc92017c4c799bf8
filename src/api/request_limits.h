#pragma once

#include <cstdint>
#include <string>

#include <sluice/limit.h>
#include <sluice/time.h>

namespace sluice::api {

/// Bounds of the limits that requests bring.
struct RequestLimitBounds {
  /// How long an exhausted key may take to be as if never used: so long it may be held.
  Micros max_refill_time = kMaxWait;
  /// The highest limits of a sliding window log and of a concurrency limit: each call or slot is an
  /// entry in the store. Other algorithms keep one or two numbers for a key, and their range.
  std::int64_t max_log_entries = 1000;
  std::int64_t max_slots = 1000;
};

/// Returns the reason to refuse a limit in a request, with the setting's name; empty: it is
/// accepted.
[[nodiscard]] std::string RefusalOf(const Limit& limit, const RequestLimitBounds& bounds);

}  // namespace sluice::api
