#include "api/admin/series_report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "base/json_reader.h"
#include "base/json_writer.h"

namespace sluice::api {
namespace {

using telemetry::SeriesPoint;
using telemetry::TimeSeries;

// The members of a point in the order of a report, which has whole numbers: the value times this.
struct Column {
  float SeriesPoint::* member;
  double scale;
};
constexpr Column kColumns[] = {
    {&SeriesPoint::checks, 100},      {&SeriesPoint::denials, 100},
    {&SeriesPoint::degraded, 100},    {&SeriesPoint::p50_seconds, 1e9},
    {&SeriesPoint::p99_seconds, 1e9}, {&SeriesPoint::lease_hit_ratio, 1e4},
};

constexpr SeriesPoint kUnknownPoint = {.checks = -1, .denials = -1, .degraded = -1};

std::int64_t StepNumber(WallTime time, std::size_t level) {
  return time.time_since_epoch() / TimeSeries::kLevels[level].step;
}

// Unknown numbers are negative, and count as nothing.
void AddRate(float one, float& sum) {
  if (one >= 0) sum = std::max(sum, 0.0F) + one;
}

}  // namespace

SeriesSlice SliceOf(const TimeSeries& series, std::size_t level) {
  return {.end = series.EndOf(level), .points = series.Points(level)};
}

std::string SeriesReportName(std::size_t level) {
  const auto step = std::chrono::floor<std::chrono::seconds>(TimeSeries::kLevels[level].step);
  return "series-" + std::to_string(step.count()) + "s";
}

std::string WriteSeriesReport(const TimeSeries& series, std::size_t level) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Key("end").Int(series.EndOf(level).time_since_epoch().count());
  json.Key("points").BeginArray();
  for (const SeriesPoint& point : series.Points(level)) {
    json.BeginArray();
    for (const auto [member, scale] : kColumns) {
      const double value = point.*member;
      json.Int(value < 0 ? -1 : std::llround(value * scale));
    }
    json.EndArray();
  }
  json.EndArray().EndObject();
  return text;
}

std::optional<SeriesSlice> ReadSeriesReport(std::string_view text, std::size_t level) {
  JsonDocument document;
  const auto body = document.Parse(text);
  if (!body || !body->is_object()) return std::nullopt;
  const auto end = body->Find("end");
  const auto points = body->Find("points");
  if (!end || !end->Whole() || *end->Whole() < 0 || !points || !points->is_array()) {
    return std::nullopt;
  }
  SeriesSlice slice{.end = WallTime{Micros{*end->Whole()}}};
  for (const JsonValue values : *points) {
    if (slice.points.size() == TimeSeries::kLevels[level].points || !values.is_array()) {
      return std::nullopt;
    }
    SeriesPoint point = kUnknownPoint;
    const Column* column = std::begin(kColumns);
    for (const JsonValue value : values) {
      if (column == std::end(kColumns)) return std::nullopt;
      const auto number = value.Whole();
      if (!number) return std::nullopt;
      point.*column->member =
          *number < 0 ? -1.0F : static_cast<float>(static_cast<double>(*number) / column->scale);
      ++column;
    }
    slice.points.push_back(point);
  }
  return slice;
}

SeriesSlice Merge(std::span<const SeriesSlice> nodes, std::size_t level) {
  constexpr std::int64_t kMaxStepsBehind = 2;
  std::int64_t newest = 0;
  for (const SeriesSlice& node : nodes) newest = std::max(newest, StepNumber(node.end, level));
  std::int64_t end = newest;
  std::int64_t begin = newest;
  for (const SeriesSlice& node : nodes) {
    const std::int64_t node_end = StepNumber(node.end, level);
    if (node_end >= newest - kMaxStepsBehind) end = std::min(end, node_end);
    begin = std::min(begin, node_end - static_cast<std::int64_t>(node.points.size()));
  }
  begin =
      std::clamp(begin, end - static_cast<std::int64_t>(TimeSeries::kLevels[level].points), end);
  SeriesSlice merged{
      .end = WallTime{end * TimeSeries::kLevels[level].step},
      .points = std::vector<SeriesPoint>(static_cast<std::size_t>(end - begin), kUnknownPoint)};
  std::vector<double> leased_checks(merged.points.size());
  std::vector<double> lease_hits(merged.points.size());
  for (const SeriesSlice& node : nodes) {
    const std::int64_t first =
        StepNumber(node.end, level) - static_cast<std::int64_t>(node.points.size());
    for (std::size_t i = 0; i < node.points.size(); ++i) {
      const std::int64_t at = first + static_cast<std::int64_t>(i) - begin;
      if (at < 0 || at >= end - begin) continue;
      const SeriesPoint& point = node.points[i];
      SeriesPoint& sum = merged.points[static_cast<std::size_t>(at)];
      AddRate(point.checks, sum.checks);
      AddRate(point.denials, sum.denials);
      AddRate(point.degraded, sum.degraded);
      sum.p50_seconds = std::max(sum.p50_seconds, point.p50_seconds);
      sum.p99_seconds = std::max(sum.p99_seconds, point.p99_seconds);
      if (point.lease_hit_ratio < 0 || point.checks <= 0) continue;
      leased_checks[static_cast<std::size_t>(at)] += point.checks;
      lease_hits[static_cast<std::size_t>(at)] += point.checks * point.lease_hit_ratio;
    }
  }
  for (std::size_t i = 0; i < merged.points.size(); ++i) {
    if (leased_checks[i] > 0) {
      merged.points[i].lease_hit_ratio = static_cast<float>(lease_hits[i] / leased_checks[i]);
    }
  }
  return merged;
}

}  // namespace sluice::api
