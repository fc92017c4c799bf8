#include "otlp/requests.h"

namespace sluice::otlp {
namespace {

using telemetry::SpanRecord;

// Field numbers and names are those of opentelemetry-proto 1.x.

/// The names of the three levels that every request has.
struct Levels {
  std::string_view resources, scopes, records;
};
constexpr Levels kSpanLevels{"resourceSpans", "scopeSpans", "spans"};
constexpr Levels kLogLevels{"resourceLogs", "scopeLogs", "logRecords"};
constexpr Levels kMetricLevels{"resourceMetrics", "scopeMetrics", "metrics"};

constexpr Field kResource{1, "resource"};
constexpr Field kResourceAttributes{1, "attributes"};
constexpr Field kScope{1, "scope"};
constexpr std::string_view kScopeName = "sluice";
constexpr Field kNumberAttributes{7, "attributes"};

constexpr std::uint32_t kServerSpan = 2;
constexpr std::uint32_t kClientSpan = 3;
constexpr std::uint32_t kErrorStatus = 2;
constexpr std::uint32_t kInfoSeverity = 9;
constexpr std::uint32_t kCumulative = 2;

std::uint64_t NanosOf(WallTime time) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(time.time_since_epoch()).count());
}

/// Writes a list of KeyValue.
class Attributes {
 public:
  Attributes(MessageWriter& writer, Field field) : writer_(writer), field_(field) {
    writer_.BeginList(field_);
  }

  Attributes& Text(std::string_view key, std::string_view value) {
    Begin(key);
    writer_.Text({1, "stringValue"}, value);
    return End();
  }
  Attributes& Bool(std::string_view key, bool value) {
    Begin(key);
    writer_.Bool({2, "boolValue"}, value);
    return End();
  }
  Attributes& Int(std::string_view key, std::int64_t value) {
    Begin(key);
    writer_.Int({3, "intValue"}, value);
    return End();
  }
  void Finish() { writer_.EndList(); }

 private:
  void Begin(std::string_view key) {
    writer_.BeginElement(field_);
    writer_.Text({1, "key"}, key);
    writer_.Begin({2, "value"});
  }
  Attributes& End() {
    writer_.End();
    writer_.End();
    return *this;
  }

  MessageWriter& writer_;
  const Field field_;
};

void OpenLevels(MessageWriter& writer, const Levels& levels, const Resource& resource) {
  writer.BeginList({1, levels.resources});
  writer.BeginElement({1, levels.resources});
  writer.Begin(kResource);
  Attributes attributes(writer, kResourceAttributes);
  for (const auto& [name, value] : resource.attributes) attributes.Text(name, value);
  attributes.Finish();
  writer.End();
  writer.BeginList({2, levels.scopes});
  writer.BeginElement({2, levels.scopes});
  writer.Begin(kScope);
  writer.Text({1, "name"}, kScopeName);
  writer.Text({2, "version"}, resource.version);
  writer.End();
  writer.BeginList({2, levels.records});
}

void CloseLevels(MessageWriter& writer) {
  writer.EndList();
  writer.End();
  writer.EndList();
  writer.End();
  writer.EndList();
  writer.Finish();
}

struct SpanHead {
  std::uint64_t id;
  std::uint64_t parent;  ///< 0: none.
  std::string_view name;
  std::uint32_t kind;
  std::chrono::nanoseconds begin;
  std::chrono::nanoseconds end;
};

void BeginSpan(MessageWriter& writer, const TraceContext& context, const SpanHead& head) {
  writer.BeginElement({2, kSpanLevels.records});
  writer.Id({1, "traceId"}, {context.trace_high, context.trace_low});
  writer.Id({2, "spanId"}, {head.id});
  if (head.parent != 0) writer.Id({4, "parentSpanId"}, {head.parent});
  writer.Text({5, "name"}, head.name);
  writer.Enum({6, "kind"}, head.kind);
  writer.Fixed({7, "startTimeUnixNano"}, static_cast<std::uint64_t>(head.begin.count()));
  writer.Fixed({8, "endTimeUnixNano"}, static_cast<std::uint64_t>(head.end.count()));
}

void WriteSpan(MessageWriter& writer, const SpanRecord& record) {
  constexpr Field kAttributes{9, "attributes"};
  BeginSpan(writer, record.context,
            {.id = record.id,
             .parent = record.context.parent,
             .name = "sluice.check",
             .kind = kServerSpan,
             .begin = record.begin,
             .end = record.end});
  Attributes attributes(writer, kAttributes);
  attributes.Text("sluice.protocol", record.protocol)
      .Text("sluice.outcome", record.outcome)
      .Bool("sluice.allowed", record.allowed)
      .Bool("sluice.degraded", record.degraded)
      .Bool("sluice.slow", record.is_slow)
      .Int("sluice.cost", record.cost)
      .Int("sluice.limits", record.limits);
  if (record.limits > 0) {
    attributes.Text("sluice.rule", record.rule.view())
        .Text("sluice.limit", record.limit.view())
        .Int("sluice.cap", record.cap)
        .Int("sluice.remaining", record.remaining);
  }
  attributes.Finish();
  if (record.degraded) {
    writer.Begin({15, "status"});
    writer.Text({2, "message"}, "decided without the store");
    writer.Enum({3, "code"}, kErrorStatus);
    writer.End();
  }
  writer.End();
  if (record.store_id == 0) return;
  BeginSpan(writer, record.context,
            {.id = record.store_id,
             .parent = record.id,
             .name = "redis.evalsha",
             .kind = kClientSpan,
             .begin = record.store_begin,
             .end = record.end});
  Attributes(writer, kAttributes)
      .Text("db.system.name", "redis")
      .Text("db.operation.name", "EVALSHA")
      .Int("sluice.limits", record.limits)
      .Finish();
  writer.End();
}

}  // namespace

std::string WriteSpans(Encoding encoding, const Resource& resource,
                       std::span<const SpanRecord> records) {
  std::string body;
  MessageWriter writer(encoding, body);
  OpenLevels(writer, kSpanLevels, resource);
  for (const SpanRecord& record : records) WriteSpan(writer, record);
  CloseLevels(writer);
  return body;
}

std::string WriteDenials(Encoding encoding, const Resource& resource,
                         std::span<const DenialRecord> records) {
  std::string body;
  MessageWriter writer(encoding, body);
  OpenLevels(writer, kLogLevels, resource);
  for (const DenialRecord& record : records) {
    writer.BeginElement({2, kLogLevels.records});
    writer.Fixed({1, "timeUnixNano"}, NanosOf(record.time));
    writer.Fixed({11, "observedTimeUnixNano"}, NanosOf(record.time));
    writer.Enum({2, "severityNumber"}, kInfoSeverity);
    writer.Text({3, "severityText"}, "INFO");
    writer.Begin({5, "body"});
    writer.Text({1, "stringValue"}, "call denied");
    writer.End();
    Attributes attributes(writer, {6, "attributes"});
    attributes.Text("sluice.protocol", record.protocol)
        .Text("sluice.outcome", record.outcome)
        .Text("sluice.rule", record.rule.view())
        .Text("sluice.limit", record.limit.view())
        .Bool("sluice.degraded", record.degraded)
        .Int("sluice.cost", record.cost)
        .Int("sluice.cap", record.cap)
        .Int("sluice.remaining", record.remaining);
    if (record.wait >= Micros{0}) {
      attributes.Int("sluice.retry_after_ms", record.wait / std::chrono::milliseconds(1));
    }
    attributes.Finish();
    writer.End();
  }
  CloseLevels(writer);
  return body;
}

MetricRequests::MetricRequests(Encoding encoding, const Resource& resource,
                               std::span<const std::pair<std::string, std::string>> labels,
                               WallTime start, WallTime now)
    : encoding_(encoding),
      resource_(resource),
      labels_(labels),
      start_(NanosOf(start)),
      now_(NanosOf(now)) {}

void MetricRequests::Family(std::string_view name, MetricType type, std::string_view help) {
  CloseMetric();
  name_ = name;
  type_ = type;
  help_ = help;
}

void MetricRequests::OpenRequest() {
  body_.clear();
  writer_ = std::make_unique<MessageWriter>(encoding_, body_);
  OpenLevels(*writer_, kMetricLevels, resource_);
}

void MetricRequests::CloseRequest() {
  CloseMetric();
  if (!writer_) return;
  CloseLevels(*writer_);
  writer_.reset();
  requests_.emplace_back(std::move(body_), points_);
  points_ = 0;
}

void MetricRequests::OpenMetric() {
  writer_->BeginElement({2, kMetricLevels.records});
  writer_->Text({1, "name"}, name_);
  writer_->Text({2, "description"}, help_);
  if (name_.ends_with("_seconds")) writer_->Text({3, "unit"}, "s");
  if (type_ == MetricType::kCounter) {
    writer_->Begin({7, "sum"});
    writer_->Enum({2, "aggregationTemporality"}, kCumulative);
    writer_->Bool({3, "isMonotonic"}, true);
  } else if (type_ == MetricType::kHistogram) {
    writer_->Begin({9, "histogram"});
    writer_->Enum({2, "aggregationTemporality"}, kCumulative);
  } else {
    writer_->Begin({5, "gauge"});
  }
  writer_->BeginList({1, "dataPoints"});
  is_metric_open_ = true;
}

void MetricRequests::CloseMetric() {
  if (!is_metric_open_) return;
  writer_->EndList();
  writer_->End();
  writer_->End();
  is_metric_open_ = false;
}

void MetricRequests::BeginPoint(Labels labels, Field attributes) {
  if (points_ >= kMaxPoints) CloseRequest();
  if (!writer_) OpenRequest();
  if (!is_metric_open_) OpenMetric();
  ++points_;
  writer_->BeginElement({1, "dataPoints"});
  Attributes written(*writer_, attributes);
  for (const auto& [name, value] : labels_) written.Text(name, value);
  for (const Label& label : labels) written.Text(label.name, label.value);
  written.Finish();
  writer_->Fixed({2, "startTimeUnixNano"}, type_ == MetricType::kGauge ? now_ : start_);
  writer_->Fixed({3, "timeUnixNano"}, now_);
}

void MetricRequests::Sample(Labels labels, std::uint64_t value) {
  Sample(labels, static_cast<std::int64_t>(value));
}

void MetricRequests::Sample(Labels labels, std::int64_t value) {
  BeginPoint(labels, kNumberAttributes);
  writer_->SignedFixed({6, "asInt"}, value);
  writer_->End();
}

void MetricRequests::Sample(Labels labels, double value) {
  BeginPoint(labels, kNumberAttributes);
  writer_->Double({4, "asDouble"}, value);
  writer_->End();
}

void MetricRequests::Sample(Labels labels, std::chrono::nanoseconds value) {
  Sample(labels, std::chrono::duration<double>(value).count());
}

void MetricRequests::Sample(Labels labels, std::chrono::sys_seconds value) {
  Sample(labels, static_cast<std::int64_t>(value.time_since_epoch().count()));
}

void MetricRequests::Sample(Labels labels, const Histogram& value) {
  std::vector<std::uint64_t> counts;
  std::vector<double> ends;
  for (std::size_t i = 0; i < kBuckets; ++i) counts.push_back(value.bucket(i));
  for (const auto end : kBucketEnds) ends.push_back(std::chrono::duration<double>(end).count());
  HistogramPoint(labels, counts, ends, value.sum());
}

void MetricRequests::Sample(Labels labels, const BucketCounts& value) {
  std::vector<double> ends;
  for (const auto end : value.ends) ends.push_back(std::chrono::duration<double>(end).count());
  HistogramPoint(labels, value.counts, ends, value.sum);
}

void MetricRequests::HistogramPoint(Labels labels, std::span<const std::uint64_t> counts,
                                    std::span<const double> ends, std::chrono::nanoseconds sum) {
  std::uint64_t count = 0;
  for (const std::uint64_t one : counts) count += one;
  BeginPoint(labels, {9, "attributes"});
  writer_->Fixed({4, "count"}, count);
  writer_->Double({5, "sum"}, std::chrono::duration<double>(sum).count());
  writer_->FixedList({6, "bucketCounts"}, counts);
  writer_->DoubleList({7, "explicitBounds"}, ends);
  writer_->End();
}

void MetricRequests::End() { CloseRequest(); }

}  // namespace sluice::otlp
