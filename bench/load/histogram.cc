#include "load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::bench {
namespace {

// Each power of two is split into so many buckets; below that, each nanosecond has its own.
constexpr int kBits = 7;
constexpr std::uint64_t kLongest = (std::uint64_t{1} << 42) - 1;  // Nanoseconds: over an hour.

std::size_t BucketOf(std::uint64_t nanos) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(nanos)) - 1 - kBits);
  return (static_cast<std::size_t>(shift) << kBits) + (nanos >> shift);
}

std::uint64_t LongestOf(std::size_t bucket) {
  if (bucket < (std::size_t{2} << kBits)) return bucket;
  const std::size_t shift = (bucket >> kBits) - 1;
  return ((bucket - (shift << kBits) + 1) << shift) - 1;
}

}  // namespace

Histogram::Histogram() : buckets_(BucketOf(kLongest) + 1) {}

void Histogram::Record(std::chrono::nanoseconds time) {
  const auto nanos = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  ++buckets_[BucketOf(std::min(nanos, kLongest))];
  ++count_;
  longest_ = std::max(longest_, nanos);
}

std::chrono::nanoseconds Histogram::Quantile(double part) const {
  const auto rank =
      static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(count_) - 1e-9));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i + 1 < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen > 0 && seen >= rank) {
      return std::chrono::nanoseconds(std::min(LongestOf(i), longest_));
    }
  }
  return std::chrono::nanoseconds(longest_);
}

}  // namespace sluice::bench
