#include "server/telemetry_export.h"

#include <string>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "api/call_counters.h"
#include "server/version.h"
#include "server/worker.h"

namespace sluice::server {
namespace {

using otlp::Signal;
using telemetry::SpanBuffer;

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

// What the operator says goes before what is found out.
otlp::Resource ResourceOf(const settings::OtlpSettings& settings) {
  otlp::Resource resource{.version = std::string(kVersion),
                          .attributes = {{"service.name", settings.service_name}}};
  const auto add = [&resource](const std::string& name, const std::string& value) {
    for (const auto& attribute : resource.attributes) {
      if (attribute.first == name) return;
    }
    resource.attributes.emplace_back(name, value);
  };
  for (const auto& [name, value] : settings.resource_attributes) add(name, value);
  const std::string host = HostName();
  add("service.version", std::string(kVersion));
  add("service.instance.id", host + ":" + std::to_string(::getpid()));
  add("host.name", host);
  return resource;
}

otlp::ExporterOptions OptionsOf(const settings::Config& config) {
  const settings::OtlpSettings& settings = config.otlp;
  // "https://host:4318/prefix": the client knows servers, the exporter paths.
  const std::size_t host = settings.endpoint.find("://") + 3;
  const std::size_t path = settings.endpoint.find('/', host);
  std::string prefix = path == std::string::npos ? "" : settings.endpoint.substr(path);
  while (prefix.ends_with('/')) prefix.pop_back();
  return {.client = {.server = settings.endpoint.substr(0, path),
                     .headers = settings.headers,
                     .ca_file = settings.ca_file,
                     .certificate_file = settings.certificate_file,
                     .key_file = settings.key_file,
                     .connect_timeout = settings.timeout,
                     .timeout = settings.timeout,
                     .total_timeout = settings.timeout},
          .path = prefix,
          .encoding = settings.protocol == settings::OtlpProtocol::kHttpJson
                          ? otlp::Encoding::kJson
                          : otlp::Encoding::kProtobuf,
          .resource = ResourceOf(settings),
          .labels = config.metrics_labels,
          .metrics_interval = settings.metrics ? settings.metrics_interval : Micros{0}};
}

}  // namespace

Result<std::unique_ptr<TelemetryExport>> TelemetryExport::Create(
    Shared& shared, net::Loops& loops, const std::vector<std::unique_ptr<Worker>>& workers) {
  const settings::OtlpSettings& settings = shared.config.otlp;
  if (settings.endpoint.empty()) return std::unique_ptr<TelemetryExport>();
  auto exporter = otlp::Exporter::Create(OptionsOf(shared.config), shared.log);
  if (!exporter) return Error{ErrorCode::kInvalidOptions, "otlp: " + exporter.error().message};
  if (settings.traces) {
    shared.span_budget = std::make_unique<telemetry::SpanBudget>(
        static_cast<std::uint32_t>(settings.spans_per_second));
  }
  return std::unique_ptr<TelemetryExport>(
      new TelemetryExport(shared, loops, workers, *std::move(exporter)));
}

TelemetryExport::TelemetryExport(Shared& shared, net::Loops& loops,
                                 const std::vector<std::unique_ptr<Worker>>& workers,
                                 std::unique_ptr<otlp::Exporter> exporter)
    : shared_(shared), loops_(loops), workers_(workers), exporter_(std::move(exporter)) {}

void TelemetryExport::Start(WriteMetrics write_metrics) {
  otlp::Exporter::Sources sources{.write_metrics = std::move(write_metrics)};
  if (shared_.span_budget) {
    sources.ask_for_spans = [this] { return AskForSpans(); };
    sources.take_spans = [this] { TakeSpans(); };
  }
  exporter_->Start(std::move(sources));
}

void TelemetryExport::OfferDenial(const telemetry::DecisionRecord& record) {
  if (!shared_.config.otlp.logs || --until_denial_ > 0) return;
  until_denial_ = shared_.config.otlp.denied_every;
  exporter_->OfferDenial({.time = record.time,
                          .protocol = kLabels<api::Protocol>[record.protocol],
                          .outcome = kLabels<api::CallOutcome>[record.outcome],
                          .rule = telemetry::SpanText(record.rule),
                          .limit = telemetry::SpanText(record.limit),
                          .degraded = record.degraded,
                          .cost = record.cost,
                          .remaining = record.remaining,
                          .cap = record.cap,
                          .wait = record.wait});
}

// A loop that has recorded nothing is left alone.
bool TelemetryExport::AskForSpans() {
  bool asked = false;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    telemetry::LoopTracer* const tracer = workers_[i]->tracer();
    if (!tracer->has_spans()) continue;
    asked = true;
    // Shared, since a posted function can be copied.
    auto buffer = std::make_shared<std::unique_ptr<SpanBuffer>>();
    if (spares_.empty()) {
      *buffer = std::make_unique<SpanBuffer>();
    } else {
      *buffer = std::move(spares_.back());
      spares_.pop_back();
    }
    loops_[i].Post([inbox = inbox_, tracer, buffer] {
      *buffer = tracer->Exchange(std::move(*buffer));
      const std::lock_guard lock(inbox->mutex);
      inbox->buffers.push_back(std::move(*buffer));
    });
  }
  return asked;
}

void TelemetryExport::TakeSpans() {
  std::vector<std::unique_ptr<SpanBuffer>> buffers;
  {
    const std::lock_guard lock(inbox_->mutex);
    buffers.swap(inbox_->buffers);
  }
  for (auto& buffer : buffers) {
    exporter_->OfferSpans(buffer->records());
    exporter_->CountDropped(Signal::kTraces, buffer->dropped());
    buffer->Clear();
    if (spares_.size() < workers_.size()) spares_.push_back(std::move(buffer));
  }
}

}  // namespace sluice::server
