#include "server/store_speed.h"

#include <cstddef>
#include <cstdint>

namespace sluice::server {

void StoreSpeed::Look(const telemetry::HistogramTotals& totals) {
  std::uint64_t all = 0;
  std::uint64_t slow = 0;
  for (std::size_t i = 0; i < telemetry::kBuckets; ++i) {
    const std::uint64_t more = totals.buckets[i] - before_.buckets[i];
    all += more;
    if (i >= telemetry::kBucketEnds.size() || telemetry::kBucketEnds[i] > kSlow) slow += more;
  }
  before_ = totals;
  // A single one may be an accident.
  is_slow_.store(slow > 1 && slow * 100 > all, std::memory_order_relaxed);
}

}  // namespace sluice::server
