#include "telemetry/top_sum.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sluice::telemetry {
namespace {

// Standard deviations: a normal distribution is outside once in 16 000 cases.
constexpr double kDeviations = 4;

void SortByCount(std::vector<TopRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const TopRow& a, const TopRow& b) {
    if (a.count != b.count) return a.count > b.count;
    return a.rule != b.rule ? a.rule < b.rule : a.key < b.key;
  });
}

}  // namespace

std::uint64_t TopRow::Error() const {
  const std::uint64_t counted = std::max(over, under);
  if (!is_sampled) return counted;
  // The second term is for small numbers, of which the variance is not known well.
  const double sampled =
      kDeviations * std::sqrt(variance) + kDeviations * kDeviations * static_cast<double>(largest);
  return counted + static_cast<std::uint64_t>(std::ceil(sampled));
}

TopSlice SliceOf(const SpaceSaving& sketch, std::uint32_t max_weight, WallTime now) {
  TopSlice slice;
  slice.rows.reserve(sketch.counters().size());
  for (std::size_t i = 0; i < sketch.counters().size(); ++i) {
    const SpaceSaving::Counter& counter = sketch.counters()[i];
    const PairText& text = sketch.text(i);
    slice.rows.push_back({.hash = counter.hash,
                          .rule = std::string(text.rule()),
                          .key = std::string(text.key()),
                          .is_secret = text.is_secret(),
                          .count = counter.count,
                          .over = counter.error,
                          .variance = counter.variance,
                          .largest = std::max<std::uint64_t>(counter.largest, max_weight),
                          .is_sampled = max_weight > 1,
                          .utilization = counter.utilization,
                          .last = now});
  }
  slice.max_absent = sketch.MaxAbsent();
  // Calls of which none was chosen.
  if (max_weight > 1) {
    slice.max_absent += static_cast<std::uint64_t>(kDeviations * kDeviations * max_weight);
  }
  return slice;
}

void TopSum::Clear() {
  rows_.clear();
  max_absent_ = 0;
}

void TopSum::Add(const TopSlice& slice) {
  for (const TopRow& row : slice.rows) {
    auto [found, is_new] = rows_.try_emplace(row.hash);
    Sum& sum = found->second;
    sum.present += slice.max_absent;
    if (is_new) {
      sum.row = row;
      continue;
    }
    sum.row.count += row.count;
    sum.row.over += row.over;
    sum.row.under += row.under;
    sum.row.variance += row.variance;
    sum.row.largest = std::max(sum.row.largest, row.largest);
    sum.row.is_secret |= row.is_secret;
    sum.row.is_sampled |= row.is_sampled;
    if (row.last > sum.row.last) {
      sum.row.utilization = row.utilization;
      sum.row.last = row.last;
    } else if (row.last == sum.row.last) {
      sum.row.utilization = std::max(sum.row.utilization, row.utilization);
    }
  }
  max_absent_ += slice.max_absent;
  if (rows_.size() <= kMaxRows) return;
  const TopSlice kept = Take(kMaxRows / 2);
  Clear();
  Add(kept);
}

TopRow TopSum::RowOf(const Sum& sum) const {
  TopRow row = sum.row;
  row.under += max_absent_ - sum.present;
  return row;
}

TopSlice TopSum::Take(std::size_t max_rows) const {
  TopSlice slice;
  slice.rows.reserve(rows_.size());
  for (const auto& [hash, sum] : rows_) slice.rows.push_back(RowOf(sum));
  SortByCount(slice.rows);
  slice.max_absent = max_absent_;
  if (slice.rows.size() > max_rows) {
    for (std::size_t i = max_rows; i < slice.rows.size(); ++i) {
      const TopRow& cut = slice.rows[i];
      slice.max_absent = std::max(slice.max_absent, cut.count + cut.Error());
    }
    slice.rows.resize(max_rows);
  }
  return slice;
}

}  // namespace sluice::telemetry
