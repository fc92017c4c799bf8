#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/labels.h"
#include "base/metrics.h"
#include "telemetry/metric_sink.h"

namespace sluice::telemetry {

/// A struct with a table of metrics (base/metrics.h), and the labels that all its series have.
template <typename T>
struct Labeled {
  std::vector<Label> labels;
  const T* values;
};

/// Writes the samples of one row, whose labels are put after those that `labels` has already.
class MetricWriter {
 public:
  explicit MetricWriter(MetricSink& sink) : sink_(sink) {}

  template <typename Enum, typename Value>
  void Write(std::vector<Label> labels, std::string_view label, std::string_view inner,
             const EnumArray<Enum, Value>& values) {
    labels.push_back({label, {}});
    for (std::size_t i = 0; i < values.kSize; ++i) {
      labels.back().value = kLabels<Enum>[i];
      if (!kLabels<Enum>[i].empty()) Write(labels, inner, {}, values.values[i]);
    }
  }
  void Write(std::vector<Label> labels, std::string_view label, std::string_view value_of_label,
             const auto& value) {
    if (!label.empty()) labels.push_back({label, value_of_label});
    using Value = std::remove_cvref_t<decltype(value)>;
    if constexpr (std::same_as<Value, Gauge> || std::signed_integral<Value>) {
      sink_.Sample(labels, static_cast<std::int64_t>(value));
    } else if constexpr (std::same_as<Value, Counter> || std::unsigned_integral<Value>) {
      sink_.Sample(labels, static_cast<std::uint64_t>(value));
    } else {
      sink_.Sample(labels, value);
    }
  }

 private:
  MetricSink& sink_;
};

/// Appends all metrics of a table: a family for each name, in it the samples of all `instances`.
/// Nothing, if there are none.
///
/// No client can create a series: labels are names of enums, of rules and of configured things.
template <typename T>
void WriteMetrics(MetricSink& sink, std::span<const Labeled<T>> instances) {
  if (instances.empty()) return;
  MetricWriter writer(sink);
  std::string_view family;
  ForEachMetric<T>([&](const auto& row) {
    if constexpr (requires { row.name; }) {
      if (row.name != family) sink.Family(row.name, row.type, row.help);
      family = row.name;
      for (const Labeled<T>& instance : instances) {
        writer.Write(instance.labels, row.label, row.inner,
                     std::invoke(row.member, *instance.values));
      }
    }
  });
}
template <typename T>
void WriteMetrics(MetricSink& sink, const std::vector<Labeled<T>>& instances) {
  WriteMetrics(sink, std::span<const Labeled<T>>(instances));
}
template <typename T>
void WriteMetrics(MetricSink& sink, const T& values) {
  const Labeled<T> only{.labels = {}, .values = &values};
  WriteMetrics(sink, std::span(&only, 1));
}

}  // namespace sluice::telemetry
