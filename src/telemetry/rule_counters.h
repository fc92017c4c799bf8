#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "telemetry/labels.h"

namespace sluice::telemetry {

/// Where the counts of one rule's limits of one algorithm are kept: a small number.
struct RuleSeries {
  std::uint32_t index = 0;

  friend bool operator==(const RuleSeries&, const RuleSeries&) = default;
};

/// Numbers for rules, given when rules are loaded. A rule that comes back after a reload has its
/// old number and goes on counting where it was. There are at most so many numbers: what comes
/// later is counted together, under the name "_other". Thread-safe.
class RuleIds {
 public:
  static constexpr std::size_t kDefaultMaxSeries = 10'000;
  static constexpr std::string_view kOther = "_other";

  struct Name {
    std::string rule;
    Algorithm algorithm{};
  };

  explicit RuleIds(std::size_t max_series = kDefaultMaxSeries);

  /// Takes a lock and may allocate: for when rules are loaded, not for a call's way. Bytes that are
  /// not UTF-8 become U+FFFD, so that different names may share a number, but never the reverse.
  RuleSeries Intern(std::string_view rule, Algorithm algorithm);

  /// All names so far by their numbers; first those of "_other", one for each algorithm.
  [[nodiscard]] std::vector<Name> Names() const;
  /// Every number is below this.
  [[nodiscard]] std::size_t capacity() const { return capacity_; }
  /// Asked for after the numbers had run out; the same rule may count many times.
  [[nodiscard]] std::uint64_t overflowed() const;

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<Name> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::uint64_t overflowed_ = 0;
};

/// What one loop counted for each rule. One thread writes, any may read.
///
/// Room for every number that RuleIds may ever give is set aside at once, so nothing moves or grows
/// when rules change; but it is address space only, and a page becomes memory when a rule on it is
/// counted for the first time.
class RuleCounters {
 public:
  enum class Column : std::uint8_t { kDenied, kAllowed, kShadowDenied };
  static constexpr std::size_t kColumns = 4;  ///< One is not used: four share a cache line evenly.

  explicit RuleCounters(const RuleIds& ids);

  void Add(RuleSeries series, Column column) {
    const std::atomic_ref<std::uint64_t> cell(cells_[CellOf(series, column)]);
    // Relaxed, as in Counter: one writer, and nothing else is read through it.
    cell.store(cell.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  [[nodiscard]] std::uint64_t value(RuleSeries series, Column column) const {
    const std::atomic_ref<std::uint64_t> cell(cells_[CellOf(series, column)]);
    return cell.load(std::memory_order_relaxed);  // Relaxed: any recent value will do.
  }

 private:
  struct Free {
    void operator()(std::uint64_t* cells) const { std::free(cells); }  // NOLINT(*-no-malloc)
  };

  static std::size_t CellOf(RuleSeries series, Column column) {
    return series.index * kColumns + static_cast<std::size_t>(column);
  }

  std::unique_ptr<std::uint64_t[], Free> cells_;
};

}  // namespace sluice::telemetry
