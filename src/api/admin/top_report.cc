#include "api/admin/top_report.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/labels.h"
#include "base/stable_hash.h"

namespace sluice::api {
namespace {

using telemetry::TopDimension;
using telemetry::TopRow;
using telemetry::TopSlice;
using telemetry::TopSum;
using telemetry::TopWindow;

// A report has three lists; a store accepts 256 KiB. Rows with long keys make the list shorter.
constexpr std::size_t kMaxListBytes = std::size_t{72} << 10;
constexpr std::size_t kMergedRows = 4096;

std::int64_t MicrosOf(WallTime time) { return time.time_since_epoch().count(); }

void AppendRow(const TopRow& row, JsonWriter& json) {
  json.BeginArray().String(row.rule).String(row.key).Bool(row.is_secret);
  json.Uint(row.count).Uint(row.over).Uint(row.under);
  json.Uint(static_cast<std::uint64_t>(std::ceil(row.variance))).Uint(row.largest);
  json.Bool(row.is_sampled);
  json.Uint(static_cast<std::uint64_t>(std::llround(row.utilization * 1e6)));
  json.Int(MicrosOf(row.last)).EndArray();
}

// Rows that don't fit count as cut.
void AppendList(const TopSlice& slice, std::string_view name, JsonWriter& json) {
  std::string rows;
  std::uint64_t max_absent = slice.max_absent;
  for (const TopRow& row : slice.rows) {
    if (rows.size() > kMaxListBytes) {
      max_absent = std::max(max_absent, row.count + row.Error());
      continue;
    }
    if (!rows.empty()) rows += ',';
    JsonWriter one(rows);
    AppendRow(row, one);
  }
  json.Key(name).BeginObject();
  json.Key("max_absent").Uint(max_absent);
  json.Key("rows").Literal("[" + rows + "]");
  json.EndObject();
}

// The values of a row in their order; zeros and empty texts where there are others.
class RowReader {
 public:
  explicit RowReader(const JsonValue& row) : at_(row.begin()), end_(row.end()) {}

  std::string Text() {
    const auto value = Next();
    return std::string(value ? value->String().value_or("") : "");
  }
  bool Bool() {
    const auto value = Next();
    return value && value->Bool().value_or(false);
  }
  std::uint64_t Number() {
    const auto value = Next();
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(value ? value->Whole().value_or(0) : 0, 0));
  }

 private:
  std::optional<JsonValue> Next() {
    if (at_ == end_) return std::nullopt;
    const JsonValue value = *at_;
    ++at_;
    return value;
  }

  JsonValue::Iterator at_;
  JsonValue::Iterator end_;
};

TopRow ReadRow(const JsonValue& json) {
  RowReader read(json);
  TopRow row;
  row.rule = read.Text();
  row.key = read.Text();
  row.hash = StableHash(row.rule, row.key);  // Other nodes have other secrets.
  row.is_secret = read.Bool();
  row.count = read.Number();
  row.over = read.Number();
  row.under = read.Number();
  row.variance = static_cast<double>(read.Number());
  row.largest = read.Number();
  row.is_sampled = read.Bool();
  row.utilization = static_cast<double>(read.Number()) / 1e6;
  row.last = WallTime{Micros{static_cast<std::int64_t>(read.Number())}};
  return row;
}

std::string_view NameOf(TopDimension dimension) {
  return kLabels<TopBy>[static_cast<std::size_t>(dimension)];
}

std::optional<TopSlice> ReadList(const JsonValue& body, TopDimension dimension) {
  const auto list = body.Find(NameOf(dimension));
  const auto rows = list ? list->Find("rows") : std::nullopt;
  const auto max_absent = list ? list->Find("max_absent") : std::nullopt;
  if (!rows || !max_absent) return std::nullopt;
  TopSlice slice;
  slice.max_absent =
      static_cast<std::uint64_t>(std::max<std::int64_t>(max_absent->Whole().value_or(0), 0));
  for (const JsonValue row : *rows) {
    if (slice.rows.size() == kPublishedRows) break;
    slice.rows.push_back(ReadRow(row));
  }
  return slice;
}

// Consumers by utilization are those of denied and of allowed calls.
std::vector<TopDimension> DimensionsOf(TopBy by) {
  if (by == TopBy::kUtilization) return {TopDimension::kAllowed, TopDimension::kDenied};
  return {static_cast<TopDimension>(by)};
}

}  // namespace

TopReport ReportOf(const telemetry::InsightState& state, TopBy by, TopWindow window) {
  TopSum sum;
  for (const TopDimension dimension : DimensionsOf(by)) {
    sum.Add(state.TopBy(dimension).Take(window, kMergedRows));
  }
  return {.from = state.TopBy(DimensionsOf(by)[0]).BeginOf(window), .slice = sum.Take(kMergedRows)};
}

std::string ReportNameOf(TopWindow window) { return "top-" + std::string(LabelOf(window)); }

std::string WriteTopReport(const telemetry::InsightState& state, TopWindow window) {
  std::string text;
  JsonWriter json(text);
  json.BeginObject();
  json.Key("from").Int(MicrosOf(state.top[0].BeginOf(window)));
  for (const TopDimension dimension :
       {TopDimension::kDenied, TopDimension::kAllowed, TopDimension::kCost}) {
    AppendList(state.TopBy(dimension).Take(window, kPublishedRows), NameOf(dimension), json);
  }
  json.EndObject();
  return text;
}

std::optional<TopReport> ReadTopReport(std::string_view text, TopBy by) {
  JsonDocument document;
  const auto body = document.Parse(text);
  if (!body || !body->is_object()) return std::nullopt;
  TopReport report;
  if (const auto from = body->Find("from")) {
    report.from = WallTime{Micros{from->Whole().value_or(0)}};
  }
  TopSum sum;
  for (const TopDimension dimension : DimensionsOf(by)) {
    const auto list = ReadList(*body, dimension);
    if (!list) return std::nullopt;
    sum.Add(*list);
  }
  report.slice = sum.Take(kMergedRows);
  return report;
}

TopReport Merge(std::span<const TopReport> reports) {
  TopReport merged;
  TopSum sum;
  for (const TopReport& report : reports) {
    sum.Add(report.slice);
    if (merged.from == WallTime{} || report.from < merged.from) merged.from = report.from;
  }
  merged.slice = sum.Take(kMergedRows);
  return merged;
}

}  // namespace sluice::api
