#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

/// Declaration of a room's metrics: a plain struct of numbers, and a table with a row for each.
///
///     struct CallCounters {
///       Counter errors;
///       EnumArray<Protocol, Counter> calls;
///
///       void operator+=(const CallCounters& other) { AddMetrics(other, *this); }
///       static constexpr auto Metrics() {
///         using enum MetricType;
///         return std::tuple{
///             Metric{kCounter, "errors_total", "Calls that failed.", &CallCounters::errors},
///             Metric{kCounter, "calls_total", "Calls.", &CallCounters::calls, "protocol"}};
///       }
///     };
///     static_assert(HasAllMetrics<CallCounters>);
///
/// telemetry/metrics_page.h writes such structs; docs/metrics.md explains each metric.
namespace sluice {

enum class MetricType : std::uint8_t { kCounter, kGauge, kHistogram, kInfo };

struct Label {
  std::string_view name;
  std::string_view value;
};

/// A row of the table. Rows with the same name must be adjacent.
template <typename Member>
struct Metric {
  MetricType type;
  std::string_view name;
  std::string_view help;
  Member member;  ///< Pointer to a number, an EnumArray of numbers, or a member function that
                  ///< returns one.
  std::string_view
      label{};  ///< Label name of an EnumArray, or of a number that is one of several series.
  std::string_view
      inner{};  ///< Label name of a nested EnumArray, or the value of `label` for a number.
};

/// The row of a number, or of a struct of numbers, that is summed but not exported.
template <typename Member>
struct Unlisted {
  Member member;
};

/// Calls `visit` with each row of T's table.
template <typename T>
constexpr void ForEachMetric(auto&& visit) {
  std::apply([&](const auto&... row) { (visit(row), ...); }, T::Metrics());
}

/// Adds every number of `from` to `sum`.
template <typename T>
void AddMetrics(const T& from, T& sum) {
  ForEachMetric<T>([&](const auto& row) {
    if constexpr (std::is_member_object_pointer_v<decltype(row.member)>) {
      sum.*row.member += from.*row.member;
    }
  });
}

/// True if each number of T has exactly one row. `kOtherBytes` is the size of other members.
template <typename T, std::size_t kOtherBytes = 0>
inline constexpr bool HasAllMetrics = [] {  // NOLINT(readability-identifier-naming): a trait.
  std::size_t bytes = 0;
  ForEachMetric<T>([&](const auto& row) {
    if constexpr (std::is_member_object_pointer_v<decltype(row.member)>) {
      bytes += []<typename Value>(Value T::* /*member*/) { return sizeof(Value); }(row.member);
    }
  });
  return bytes + kOtherBytes == sizeof(T);
}();

}  // namespace sluice
