#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "telemetry/metrics_page.h"

namespace sluice::telemetry {

/// Where the counters of one rule or limit are: an index.
struct Series {
  std::uint32_t index = 0;

  friend bool operator==(const Series&, const Series&) = default;
};

/// The series of rules or limits, numbered when rules are loaded. A rule that comes back after a
/// reload has its old number and goes on counting where it was. The number of series is bounded:
/// later ones share series that exist from the start. Thread-safe.
class SeriesIds {
 public:
  static constexpr std::size_t kDefaultMaxSeries = 10'000;
  static constexpr std::string_view kOther = "_other";
  using Values = std::vector<std::string>;

  /// `labels`: the names of the labels. `shared`: the values of the shared series.
  SeriesIds(std::vector<std::string_view> labels, const std::vector<Values>& shared,
            std::size_t max_series = kDefaultMaxSeries);

  /// Returns the series with these values of the labels; `other`, one of the shared, if none is
  /// left. Takes a lock and may allocate: for loading rules, not for requests. Bytes that are not
  /// UTF-8 become U+FFFD, so that different names may share a series, but never the reverse.
  Series Intern(const Values& values, Series other = {});

  [[nodiscard]] const std::vector<std::string_view>& labels() const { return labels_; }
  /// The values of the labels of all series so far; first those of the shared.
  [[nodiscard]] std::vector<Values> All() const;
  [[nodiscard]] std::size_t shared() const { return shared_; }
  /// Every index is below this.
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// Requests for a series after the last one; the same rule may count many times.
  [[nodiscard]] std::uint64_t overflowed() const;

 private:
  const std::vector<std::string_view> labels_;
  const std::size_t shared_;
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<Values> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::uint64_t overflowed_ = 0;
};

/// One loop's counters of each series: T is a struct of Counter. One thread writes, any may read.
///
/// Room for every index is reserved at once, so nothing moves or grows when rules change; but it is
/// address space only, and a page becomes memory when a series on it is first counted.
template <typename T>
class SeriesCounters {
 public:
  // calloc returns large blocks as pages that are zero and not yet resident; new would touch all.
  explicit SeriesCounters(const SeriesIds& ids)
      : counters_(static_cast<T*>(  // NOLINTNEXTLINE(*-no-malloc)
            std::calloc(ids.capacity(), sizeof(T)))) {
    static_assert(std::is_trivially_destructible_v<T>);
    if (counters_ == nullptr) throw std::bad_alloc();
  }

  T& operator[](Series series) { return counters_[series.index]; }
  const T& operator[](Series series) const { return counters_[series.index]; }

 private:
  struct Free {
    void operator()(T* counters) const { std::free(counters); }  // NOLINT(*-no-malloc)
  };
  std::unique_ptr<T[], Free> counters_;
};

/// Totals of each series, with their labels.
template <typename T>
class SeriesTotals {
 public:
  explicit SeriesTotals(const SeriesIds& ids)
      : names_(ids.All()), totals_(names_.size()), labels_(ids.labels()), shared_(ids.shared()) {}

  void Add(const SeriesCounters<T>& counters) {
    for (std::uint32_t i = 0; i < totals_.size(); ++i) totals_[i] += counters[Series{i}];
  }
  /// Adds totals by index; others are none.
  void Add(std::span<const T> totals) {
    for (std::size_t i = 0; i < std::min(totals.size(), totals_.size()); ++i) {
      totals_[i] += totals[i];
    }
  }

  /// All series, shared ones only if they were counted; good as long as this is. With
  /// `only_counted` no others either.
  [[nodiscard]] std::vector<Labeled<T>> Read(bool only_counted = false) const {
    std::vector<Labeled<T>> all;
    for (std::size_t i = 0; i < totals_.size(); ++i) {
      if ((only_counted || i < shared_) && IsZero(totals_[i])) continue;
      Labeled<T>& one = all.emplace_back(Labeled<T>{.labels = {}, .values = &totals_[i]});
      for (std::size_t k = 0; k < labels_.size(); ++k) {
        // To Prometheus, an empty label is none.
        if (!names_[i][k].empty()) one.labels.push_back({labels_[k], names_[i][k]});
      }
    }
    return all;
  }

 private:
  static bool IsZero(const T& totals) {
    bool zero = true;
    ForEachMetric<T>([&](const auto& row) { zero = zero && totals.*row.member == 0; });
    return zero;
  }

  const std::vector<SeriesIds::Values> names_;
  std::vector<T> totals_;
  const std::vector<std::string_view>& labels_;
  const std::size_t shared_;
};

}  // namespace sluice::telemetry
