#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "api/admin/insight_query.h"
#include "api/admin/insight_services.h"
#include "api/admin/key_text.h"
#include "api/admin/series_report.h"
#include "api/admin/task_route.h"
#include "api/admin/top_report.h"
#include "api/http/routes.h"
#include "base/json_writer.h"
#include "base/timestamp.h"
#include "control/control_store.h"

/// Reports about recent calls: /admin/v1/top, /admin/v1/series, /admin/v1/denials/{id}.
namespace sluice::api {
namespace {

using telemetry::TopRow;
using telemetry::TopSlice;

struct TopQuery {
  TopBy by = TopBy::kDenied;
  telemetry::TopWindow window = telemetry::TopWindow::kTenMinutes;
  std::string rule{};
  std::size_t limit = 50;
  bool cluster = false;
};
constexpr std::size_t kMaxTopRows = 1000;

std::optional<TopQuery> ReadTopQuery(HttpExchange& exchange) {
  InsightQuery query(exchange, {"by", "window", "rule", "limit", "scope"});
  TopQuery top;
  query.Choose("by", LabelsOf(TopBy{}), top.by);
  query.Choose("window", LabelsOf(telemetry::TopWindow{}), top.window);
  query.Text("rule", top.rule);
  query.Number("limit", 1, kMaxTopRows, top.limit);
  top.cluster = query.IsForCluster();
  if (query.refused()) return std::nullopt;
  return top;
}

double Rounded(double number) { return std::round(number * 10'000) / 10'000; }

std::string TopJson(const TopQuery& query, const TopReport& report, std::size_t nodes,
                    const identity::Principal& principal) {
  std::vector<const TopRow*> rows;
  for (const TopRow& row : report.slice.rows) {
    if (query.rule.empty() || row.rule == query.rule) rows.push_back(&row);
  }
  if (query.by == TopBy::kUtilization) {
    std::stable_sort(rows.begin(), rows.end(), [](const TopRow* a, const TopRow* b) {
      return a->utilization > b->utilization;
    });
  }
  const std::size_t shown = std::min(rows.size(), query.limit);
  std::string body;
  JsonWriter json(body);
  json.BeginObject();
  json.Key("by").String(LabelOf(query.by));
  json.Key("window").String(LabelOf(query.window));
  json.Key("scope").String(query.cluster ? "cluster" : "node");
  json.Key("nodes").Uint(nodes);
  json.Key("from").String(FormatTimestamp(report.from));
  // A consumer that has no row may have so much.
  json.Key("max_absent")
      .Uint(shown < rows.size()
                ? std::max(report.slice.max_absent, rows[shown]->count + rows[shown]->Error())
                : report.slice.max_absent);
  json.Key("rows").BeginArray();
  for (std::size_t i = 0; i < shown; ++i) {
    const TopRow& row = *rows[i];
    json.BeginObject();
    json.Key("rule").String(row.rule);
    json.Key("key").String(row.is_secret ? KeyForPrincipal(principal, row.key) : row.key);
    json.Key("count").Uint(row.count);
    json.Key("error").Uint(row.Error());
    json.Key("sampled").Bool(row.is_sampled);
    json.Key("utilization").Double(Rounded(row.utilization));
    json.Key("last").String(FormatTimestamp(row.last));
    json.EndObject();
  }
  json.EndArray().EndObject();
  return body;
}

void RunNodeTop(HttpExchange& exchange, TopQuery query) {
  RunInsightTask(exchange, [query = std::move(query),
                            principal = exchange.principal()](InsightReader& reader) {
    TaskReply reply;
    reply.body = TopJson(query, ReportOf(reader.state, query.by, query.window), 1, principal);
    return reply;
  });
}

void RunClusterTop(HttpExchange& exchange, TopQuery query) {
  RunTask(exchange, TaskKind::kRead,
          [query = std::move(query),
           principal = exchange.principal()](ControlServices& services) -> TaskReply {
            const auto reports = services.store.ReadNodeReports(ReportNameOf(query.window));
            if (!reports) return ReplyWith(reports.error());
            std::vector<TopReport> nodes;
            for (const control::NodeReport& report : *reports) {
              if (auto read = ReadTopReport(report.text, query.by)) {
                nodes.push_back(std::move(*read));
              }
            }
            TaskReply reply;
            reply.body = TopJson(query, Merge(nodes), nodes.size(), principal);
            return reply;
          });
}

// The levels of telemetry::TimeSeries, by the length of their steps.
enum class SeriesStep : std::uint8_t { kAll, kSecond, kFiveSeconds, kHalfMinute };
constexpr std::array<std::string_view, 4> kStepLabels = {"all", "1", "5", "30"};

struct SeriesQuery {
  SeriesStep step = SeriesStep::kAll;
  std::size_t last = telemetry::TimeSeries::kLevels[telemetry::TimeSeries::kByHalfMinute].points;
  bool cluster = false;
  std::string node{};  ///< Not empty: this one, as it has published.

  [[nodiscard]] bool Has(std::size_t level) const {
    return step == SeriesStep::kAll || static_cast<std::size_t>(step) == level + 1;
  }
};

std::optional<SeriesQuery> ReadSeriesQuery(HttpExchange& exchange) {
  InsightQuery query(exchange, {"step", "last", "scope", "node"});
  SeriesQuery series;
  query.Choose("step", kStepLabels, series.step);
  query.Number("last", 1, series.last, series.last);
  series.cluster = query.IsForCluster();
  query.Text("node", series.node);
  if (query.refused()) return std::nullopt;
  if (series.step == SeriesStep::kSecond && (series.cluster || !series.node.empty())) {
    exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                     .field = "step",
                     .detail = "must be 5 or 30 for other nodes than this one"});
    return std::nullopt;
  }
  return series;
}

void AppendSeries(const SeriesSlice& slice, std::size_t level, std::size_t last, JsonWriter& json) {
  using telemetry::SeriesPoint;
  const std::span<const SeriesPoint> points =
      std::span(slice.points).last(std::min(last, slice.points.size()));
  json.BeginObject();
  json.Key("step_seconds")
      .Int(std::chrono::floor<std::chrono::seconds>(telemetry::TimeSeries::kLevels[level].step)
               .count());
  json.Key("end").String(FormatTimestamp(slice.end));
  const auto add = [&](std::string_view name, float SeriesPoint::* member, double scale) {
    json.Key(name).BeginArray();
    for (const SeriesPoint& point : points) {
      const double value = point.*member;
      value < 0 ? json.Null() : json.Double(std::round(value * scale) / scale);
    }
    json.EndArray();
  };
  add("checks", &SeriesPoint::checks, 100);
  add("denials", &SeriesPoint::denials, 100);
  add("degraded", &SeriesPoint::degraded, 100);
  add("p50_seconds", &SeriesPoint::p50_seconds, 1e8);
  add("p99_seconds", &SeriesPoint::p99_seconds, 1e8);
  add("lease_hit_ratio", &SeriesPoint::lease_hit_ratio, 1e4);
  json.EndObject();
}

void RunNodeSeries(HttpExchange& exchange, const SeriesQuery& query) {
  RunInsightTask(exchange, [query](InsightReader& reader) {
    TaskReply reply;
    JsonWriter json(reply.body);
    json.BeginObject().Key("nodes").Uint(1).Key("series").BeginArray();
    for (std::size_t level = 0; level < telemetry::TimeSeries::kLevels.size(); ++level) {
      if (query.Has(level)) {
        AppendSeries(SliceOf(reader.state.series, level), level, query.last, json);
      }
    }
    json.EndArray().EndObject();
    return reply;
  });
}

// The published data of all nodes together, or of one.
TaskReply ReplyWithPublishedSeries(const SeriesQuery& query, ControlServices& services) {
  std::size_t nodes = 0;
  std::string levels;
  JsonWriter json(levels);
  json.BeginArray();
  for (const std::size_t level :
       {telemetry::TimeSeries::kByFiveSeconds, telemetry::TimeSeries::kByHalfMinute}) {
    if (!query.Has(level)) continue;
    const auto reports = services.store.ReadNodeReports(SeriesReportName(level));
    if (!reports) return ReplyWith(reports.error());
    std::vector<SeriesSlice> slices;
    for (const control::NodeReport& report : *reports) {
      if (!query.node.empty() && report.node != query.node) continue;
      if (auto slice = ReadSeriesReport(report.text, level)) slices.push_back(*std::move(slice));
    }
    nodes = std::max(nodes, slices.size());
    AppendSeries(Merge(slices, level), level, query.last, json);
  }
  json.EndArray();
  if (nodes == 0 && !query.node.empty()) {
    return ReplyWith(Problem{.code = ProblemCode::kNotFound,
                             .field = "node",
                             .detail = "no node of this id has published a time series lately"});
  }
  TaskReply reply;
  JsonWriter body(reply.body);
  body.BeginObject().Key("nodes").Uint(nodes).Key("series").Literal(levels).EndObject();
  return reply;
}

}  // namespace

void RunTop(HttpExchange& exchange) {
  auto query = ReadTopQuery(exchange);
  if (!query) return;
  // Without a control store there is one node.
  if (query->cluster && exchange.admin().rule_tasks() != nullptr) {
    return RunClusterTop(exchange, *std::move(query));
  }
  RunNodeTop(exchange, *std::move(query));
}

void RunSeries(HttpExchange& exchange) {
  auto query = ReadSeriesQuery(exchange);
  if (!query) return;
  const bool is_published = query->cluster || !query->node.empty();
  // Without a control store there is one node.
  if (!is_published || exchange.admin().rule_tasks() == nullptr) {
    return RunNodeSeries(exchange, *query);
  }
  RunTask(exchange, TaskKind::kRead, [query = *std::move(query)](ControlServices& services) {
    return ReplyWithPublishedSeries(query, services);
  });
}

void RunExplainDenial(HttpExchange& exchange) {
  auto id = ReadPathParameter(exchange, "id");
  if (!id) return;
  if (id->size() != DenialIds::kTextBytes) {
    return exchange.Refuse({.code = ProblemCode::kInvalidParameter,
                            .field = "id",
                            .detail = "the id of a denial has 64 characters"});
  }
  RunInsightTask(exchange, [id = *std::move(id)](InsightReader& reader) {
    auto body = reader.denials.Explain(id);
    if (!body) return ReplyWith(Problem{.code = ProblemCode::kDenialNotFound, .field = "id"});
    TaskReply reply;
    reply.body = *std::move(body);
    return reply;
  });
}

}  // namespace sluice::api
