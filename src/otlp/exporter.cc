#include "otlp/exporter.h"

#include <algorithm>

#include <pthread.h>

#include "base/json_reader.h"
#include "base/parse_number.h"
#include "base/random.h"
#include "wire/proto_reader.h"

namespace sluice::otlp {
namespace {

constexpr std::array<std::string_view, 3> kPaths{"/v1/traces", "/v1/metrics", "/v1/logs"};
constexpr std::array<std::string_view, 3> kRejected{"rejectedSpans", "rejectedDataPoints",
                                                    "rejectedLogRecords"};
constexpr Micros kLongestBackoff = std::chrono::minutes(5);
// Receivers answer with a few bytes.
constexpr std::size_t kMaxResponse = std::size_t{64} << 10;

bool IsRepeated(int status) {
  return status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

Result<std::unique_ptr<Exporter>> Exporter::Create(const ExporterOptions& options,
                                                   telemetry::Log& log) {
  http_client::ClientOptions client_options = options.client;
  client_options.max_response_bytes = kMaxResponse;
  auto client = http_client::HttpClient::Create(client_options);
  if (!client) return client.error();
  return std::unique_ptr<Exporter>(new Exporter(options, *std::move(client), log));
}

Exporter::Exporter(const ExporterOptions& options, http_client::HttpClient client,
                   telemetry::Log& log)
    : options_(options), client_(std::move(client)), log_(log) {
  spans_.reserve(kMaxQueuedRecords);
  denials_.reserve(kMaxQueuedRecords);
}

Exporter::~Exporter() {
  while (!TryStop(std::chrono::seconds(1))) {
  }
  if (thread_.joinable()) thread_.join();
}

void Exporter::Start(Sources sources) {
  sources_ = std::move(sources);
  started_ = TheSystemClock().Now();
  next_metrics_ = SteadyClock::Now() + options_.metrics_interval;
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), "sluice-otlp");
    Run();
    stopped_.set_value();
  });
}

bool Exporter::TryStop(Micros timeout) {
  if (!thread_.joinable()) return true;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (done_.wait_for(timeout) == std::future_status::ready) return true;
  client_.Cancel();
  return done_.wait_for(timeout) == std::future_status::ready;
}

void Exporter::OfferSpans(std::span<const telemetry::SpanRecord> records) {
  const std::lock_guard lock(mutex_);
  for (const telemetry::SpanRecord& record : records) {
    if (spans_.size() >= kMaxQueuedRecords) {
      metrics_.dropped[Signal::kTraces] += record.spans();
    } else {
      spans_.push_back(record);
    }
  }
}

void Exporter::OfferDenial(const DenialRecord& record) {
  const std::lock_guard lock(mutex_);
  if (denials_.size() >= kMaxQueuedRecords) {
    ++metrics_.dropped[Signal::kLogs];
  } else {
    denials_.push_back(record);
  }
}

void Exporter::CountDropped(Signal signal, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  metrics_.dropped[signal] += count;
}

ExportMetrics Exporter::Metrics() const {
  const std::lock_guard lock(mutex_);
  return metrics_;
}

void Exporter::Run() {
  bool last = false;
  while (!last) {
    {
      std::unique_lock lock(mutex_);
      last = wake_.wait_for(lock, options_.tick, [this] { return stopping_; });
    }
    if (sources_.ask_for_spans) {
      sources_.take_spans();  // Of the last tick.
      if (sources_.ask_for_spans() && last) TakeLastSpans();
    }
    const SteadyTime now = SteadyClock::Now();
    if (now < not_before_ && !last) continue;
    if (last) next_metrics_ = now;
    MakeRequests(now);
    SendAll(now);
  }
  const std::lock_guard lock(mutex_);
  for (const Request& request : requests_) metrics_.dropped[request.signal] += request.records;
}

// Loops give their spans away within a turn, unless one is stuck.
void Exporter::TakeLastSpans() {
  constexpr Micros kTurn = std::chrono::milliseconds(50);
  std::this_thread::sleep_for(kTurn);
  sources_.take_spans();
}

// At most one request for each signal is made before it is sent: queues bound what waits.
void Exporter::MakeRequests(SteadyTime now) {
  if (!requests_.empty()) return;
  std::vector<telemetry::SpanRecord> spans;
  std::vector<DenialRecord> denials;
  const auto take = [](auto& queue, auto& taken) {
    const std::size_t count = std::min(queue.size(), kMaxRecordsPerRequest);
    const auto end = queue.begin() + static_cast<std::ptrdiff_t>(count);
    taken.assign(queue.begin(), end);
    queue.erase(queue.begin(), end);
  };
  {
    const std::lock_guard lock(mutex_);
    take(spans_, spans);
    take(denials_, denials);
  }
  if (!spans.empty()) {
    std::size_t count = 0;
    for (const telemetry::SpanRecord& record : spans) count += record.spans();
    requests_.push_back({.signal = Signal::kTraces,
                         .body = WriteSpans(options_.encoding, options_.resource, spans),
                         .records = count});
  }
  if (!denials.empty()) {
    requests_.push_back({.signal = Signal::kLogs,
                         .body = WriteDenials(options_.encoding, options_.resource, denials),
                         .records = denials.size()});
  }
  if (options_.metrics_interval > Micros{0} && now >= next_metrics_) {
    next_metrics_ = now + options_.metrics_interval;
    MakeMetricRequests();
  }
}

void Exporter::MakeMetricRequests() {
  MetricRequests made(options_.encoding, options_.resource, options_.labels, started_,
                      TheSystemClock().Now());
  sources_.write_metrics(made);
  for (auto& [body, points] : made.requests()) {
    requests_.push_back({.signal = Signal::kMetrics, .body = std::move(body), .records = points});
  }
}

void Exporter::SendAll(SteadyTime now) {
  while (!requests_.empty()) {
    Request& request = requests_.front();
    ++request.attempts;
    const Answer answer = Send(request);
    const bool accepted = answer.kind == Answer::Kind::kAccepted;
    const bool again = answer.kind == Answer::Kind::kRetry && request.attempts < kMaxAttempts;
    {
      const std::lock_guard lock(mutex_);
      ++metrics_.requests[accepted ? RequestResult::kAccepted
                          : again  ? RequestResult::kRetried
                                   : RequestResult::kFailed];
      const std::uint64_t lost = accepted ? answer.rejected : again ? 0 : request.records;
      metrics_.dropped[request.signal] += lost;
      if (accepted) metrics_.exported[request.signal] += request.records - lost;
    }
    if (again) {
      // Exponential, with jitter, so that the servers of a fleet don't return together.
      const Micros backoff = options_.first_backoff * (1 << (request.attempts - 1));
      const Micros jitter = backoff * static_cast<std::int64_t>(RandomId() % 1000) / 2000;
      not_before_ = now + std::min(answer.retry_after.value_or(backoff + jitter), kLongestBackoff);
      return;
    }
    requests_.pop_front();
  }
}

Exporter::Answer Exporter::Send(const Request& request) {
  using Kind = Answer::Kind;
  const auto signal = static_cast<std::size_t>(request.signal);
  const auto warn = [&](std::string_view reason) {
    log_.Write(failure_log_, SteadyClock::Now(), telemetry::LogLevel::kWarn,
               "export of telemetry failed",
               {{"signal", kLabels<Signal>[signal]}, {"reason", reason}});
  };
  const auto response =
      client_.Send({.method = "POST",
                    .target = options_.path + std::string(kPaths[signal]),
                    .content_type = options_.encoding == Encoding::kJson ? "application/json"
                                                                         : "application/x-protobuf",
                    .body = request.body});
  if (!response) {
    warn(response.error().message);
    return {.kind = Kind::kRetry};
  }
  if (response->status / 100 == 2) {
    return {.kind = Kind::kAccepted, .rejected = RejectedOf(request, response->body)};
  }
  warn("the receiver answered " + std::to_string(response->status));
  if (!IsRepeated(response->status)) return {.kind = Kind::kFailed};
  Answer answer{.kind = Kind::kRetry};
  if (const auto seconds = ParseNumber<std::uint32_t>(response->Header("retry-after"))) {
    answer.retry_after = std::chrono::seconds(*seconds);
  }
  return answer;
}

// A receiver may accept a request in part. Then nothing is sent again.
std::uint64_t Exporter::RejectedOf(const Request& request, std::string_view body) const {
  std::int64_t rejected = 0;
  if (options_.encoding == Encoding::kJson) {
    JsonDocument document;
    const auto root = document.Parse(body);
    const auto partial = root && root->is_object() ? root->Find("partialSuccess") : std::nullopt;
    const auto count = partial && partial->is_object()
                           ? partial->Find(kRejected[static_cast<std::size_t>(request.signal)])
                           : std::nullopt;
    if (!count) return 0;
    rejected = count->Whole().value_or(
        ParseNumber<std::int64_t>(count->String().value_or("")).value_or(0));
  } else {
    wire::ProtoReader outer(body);
    while (outer.Next()) {
      if (outer.field() != 1) continue;
      wire::ProtoReader partial(outer.Bytes());
      while (partial.Next()) {
        if (partial.field() == 1) rejected = static_cast<std::int64_t>(partial.Varint());
      }
    }
  }
  return std::min<std::uint64_t>(static_cast<std::uint64_t>(std::max<std::int64_t>(rejected, 0)),
                                 request.records);
}

}  // namespace sluice::otlp
