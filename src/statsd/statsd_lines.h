#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "telemetry/metric_sink.h"

namespace sluice::statsd {

enum class Format : std::uint8_t {
  kStatsd,     ///< Values of labels are parts of names.
  kDogstatsd,  ///< Labels are tags.
};

/// The values of the last export, which counters are compared with: StatsD
/// wants differences.
using LastValues = std::unordered_map<std::string, double>;

/// Makes datagrams of metrics, of at most kMaxBytes. Counters are the
/// difference to the last export, and left out while it is 0; gauges are
/// values; a histogram is the counters of its count and its sum. Infos are left
/// out.
class StatsdLines final : public telemetry::MetricSink {
 public:
  /// Fits into a packet of Ethernet.
  static constexpr std::size_t kMaxBytes = 1432;

  /// `last` is read and renewed. `labels` are added to every metric.
  StatsdLines(Format format, std::string_view prefix,
              std::span<const std::pair<std::string, std::string>> labels, LastValues& last)
      : format_(format), prefix_(prefix), labels_(labels), last_(last) {}

  void Family(std::string_view name, MetricType type, std::string_view help) override;
  using MetricSink::Sample;
  void Sample(Labels labels, std::uint64_t value) override;
  void Sample(Labels labels, std::int64_t value) override;
  void Sample(Labels labels, double value) override;
  void Sample(Labels labels, std::chrono::nanoseconds value) override;
  void Sample(Labels labels, std::chrono::sys_seconds value) override;
  void Sample(Labels labels, const Histogram& value) override;
  void Sample(Labels labels, const BucketCounts& value) override;
  void End() override;

  /// After End.
  [[nodiscard]] std::span<const std::string> datagrams() const { return datagrams_; }

 private:
  void Add(std::string_view suffix, MetricType type, Labels labels, double value);
  void AddHistogram(Labels labels, std::uint64_t count, std::chrono::nanoseconds sum);
  void AppendLine(std::string_view line);

  const Format format_;
  const std::string_view prefix_;
  const std::span<const std::pair<std::string, std::string>> labels_;
  LastValues& last_;
  std::string_view name_;
  MetricType type_ = MetricType::kGauge;
  std::string series_;  ///< Reused: name and tags of a line.
  std::string tags_;
  std::vector<std::string> datagrams_;
};

}  // namespace sluice::statsd
