#include "telemetry/time_series.h"

#include <algorithm>

namespace sluice::telemetry {
namespace {

SeriesPoint PointBetween(const CallTotals& begin, const CallTotals& end, double seconds) {
  const auto rate = [&](std::uint64_t CallTotals::* member) {
    return static_cast<float>(static_cast<double>(end.*member - begin.*member) / seconds);
  };
  std::array<std::uint64_t, kBuckets> latency{};
  for (std::size_t i = 0; i < kBuckets; ++i) latency[i] = end.latency[i] - begin.latency[i];
  const std::uint64_t hits = end.lease_hits - begin.lease_hits;
  const std::uint64_t leased = hits + end.lease_fetches - begin.lease_fetches;
  return {.checks = rate(&CallTotals::checks),
          .denials = rate(&CallTotals::denials),
          .degraded = rate(&CallTotals::degraded),
          .p50_seconds = static_cast<float>(QuantileSeconds(latency, 0.5)),
          .p99_seconds = static_cast<float>(QuantileSeconds(latency, 0.99)),
          .lease_hit_ratio = leased == 0 ? -1.0F
                                         : static_cast<float>(static_cast<double>(hits) /
                                                              static_cast<double>(leased))};
}

}  // namespace

double QuantileSeconds(const std::array<std::uint64_t, kBuckets>& buckets, double share) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : buckets) total += count;
  if (total == 0) return -1;
  const double rank = share * static_cast<double>(total);
  double below = 0;
  for (std::size_t i = 0; i < kBucketEnds.size(); ++i) {
    const auto count = static_cast<double>(buckets[i]);
    if (below + count >= rank && count > 0) {
      const double begin = i == 0 ? 0 : std::chrono::duration<double>(kBucketEnds[i - 1]).count();
      const double end = std::chrono::duration<double>(kBucketEnds[i]).count();
      return begin + (end - begin) * (rank - below) / count;
    }
    below += count;
  }
  return std::chrono::duration<double>(kBucketEnds.back()).count();
}

TimeSeries::TimeSeries() {
  for (std::size_t i = 0; i < rings_.size(); ++i) rings_[i].points.resize(kLevels[i].points);
}

void TimeSeries::Add(const CallTotals& totals, WallTime now) {
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    Ring& ring = rings_[i];
    const std::int64_t number = now.time_since_epoch() / kLevels[i].step;
    if (ring.step_number < 0 || number < ring.step_number) {  // The first, or the clock went back.
      ring.step_number = number;
      ring.at_begin = totals;
      continue;
    }
    const auto steps = static_cast<std::size_t>(number - ring.step_number);
    if (steps == 0) continue;
    const double seconds =
        std::chrono::duration<double>(kLevels[i].step).count() * static_cast<double>(steps);
    const SeriesPoint point = PointBetween(ring.at_begin, totals, seconds);
    for (std::size_t step = 0; step < std::min(steps, ring.points.size()); ++step) {
      ring.points[ring.next] = point;
      ring.next = (ring.next + 1) % ring.points.size();
      ring.filled = std::min(ring.filled + 1, ring.points.size());
    }
    ring.step_number = number;
    ring.at_begin = totals;
  }
}

std::vector<SeriesPoint> TimeSeries::Points(std::size_t level) const {
  const Ring& ring = rings_[level];
  std::vector<SeriesPoint> points;
  points.reserve(ring.filled);
  const std::size_t size = ring.points.size();
  for (std::size_t i = 0; i < ring.filled; ++i) {
    points.push_back(ring.points[(ring.next + size - ring.filled + i) % size]);
  }
  return points;
}

WallTime TimeSeries::EndOf(std::size_t level) const {
  return WallTime{std::max<std::int64_t>(rings_[level].step_number, 0) * kLevels[level].step};
}

}  // namespace sluice::telemetry
