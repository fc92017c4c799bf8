#include "base/histogram.h"

#include <algorithm>
#include <numeric>

namespace sluice {

std::uint64_t Histogram::count() const {
  return std::accumulate(buckets_.begin(), buckets_.end(), std::uint64_t{0});
}

void Histogram::Record(std::chrono::nanoseconds took) {
  took = std::max(took, std::chrono::nanoseconds(0));
  const auto* const bucket = std::lower_bound(kBucketEnds.begin(), kBucketEnds.end(), took);
  buckets_[static_cast<std::size_t>(bucket - kBucketEnds.begin())].Add();
  sum_.Add(static_cast<std::uint64_t>(took.count()));
}

void Histogram::operator+=(const Histogram& other) {
  for (std::size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  sum_ += other.sum_;
}

}  // namespace sluice
