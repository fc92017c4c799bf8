#include "api/request_limits.h"

#include "algo/state.h"

namespace sluice::api {

namespace {

std::string RefusalOfEntries(const Limit& limit, const RequestLimitBounds& bounds) {
  const bool is_log = limit.algorithm() == Algorithm::kSlidingWindowLog;
  if (!is_log && limit.algorithm() != Algorithm::kConcurrency) return {};
  const std::int64_t most = is_log ? bounds.max_log_entries : bounds.max_slots;
  if (limit.cap() <= most) return {};
  return std::string(is_log ? "a sliding window log" : "a concurrency limit") +
         " in a request may be at most " + std::to_string(most) + ", found " +
         std::to_string(limit.cap()) + " (setting request_limits." +
         (is_log ? "max_log_entries; sliding_window_counter takes more)" : "max_slots)");
}

}  // namespace

std::string RefusalOf(const Limit& limit, const RequestLimitBounds& bounds) {
  if (std::string refusal = RefusalOfEntries(limit, bounds); !refusal.empty()) return refusal;
  const Micros refill_time = algo::RefillTime(limit.numbers());
  if (refill_time <= bounds.max_refill_time) return {};
  const auto seconds = [](Micros time) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(time).count());
  };
  return "the limit takes " + seconds(refill_time) + " seconds to refill, more than the " +
         seconds(bounds.max_refill_time) +
         " that limits in requests may take (setting request_limits.max_refill_time)";
}

}  // namespace sluice::api
