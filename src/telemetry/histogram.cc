#include "telemetry/histogram.h"

#include <algorithm>
#include <numeric>

namespace sluice::telemetry {

std::uint64_t HistogramTotals::count() const {
  return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

void Histogram::Record(std::chrono::nanoseconds took) {
  took = std::max(took, std::chrono::nanoseconds(0));
  const auto* const bucket = std::lower_bound(kBucketEnds.begin(), kBucketEnds.end(), took);
  buckets_[static_cast<std::size_t>(bucket - kBucketEnds.begin())].Add();
  sum_.Add(static_cast<std::uint64_t>(took.count()));
}

void Histogram::AddTo(HistogramTotals& totals) const {
  for (std::size_t i = 0; i < kBuckets; ++i) totals.buckets[i] += buckets_[i].value();
  totals.sum += std::chrono::nanoseconds(static_cast<std::int64_t>(sum_.value()));
}

}  // namespace sluice::telemetry
