#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "base/clock.h"
#include "base/labels.h"
#include "base/metrics.h"
#include "http_client/http_client.h"
#include "otlp/requests.h"
#include "telemetry/log.h"
#include "telemetry/log_every.h"

namespace sluice::otlp {

enum class Signal : std::uint8_t { kTraces, kMetrics, kLogs };
constexpr std::array<std::string_view, 3> LabelsOf(Signal /*any*/) {
  return {"traces", "metrics", "logs"};
}

/// What became of a request.
enum class RequestResult : std::uint8_t {
  kAccepted,
  kRetried,  ///< Failed in a way that the specification repeats.
  kFailed,   ///< Given up, with what it had.
};
constexpr std::array<std::string_view, 3> LabelsOf(RequestResult /*any*/) {
  return {"accepted", "retried", "failed"};
}

struct ExportMetrics {
  EnumArray<Signal, std::uint64_t> exported{};
  EnumArray<Signal, std::uint64_t> dropped{};
  EnumArray<RequestResult, std::uint64_t> requests{};

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = ExportMetrics;
    return std::tuple{
        Metric{kCounter, "rate_limiter_otlp_exported_total",
               "Spans, data points and log records that the OTLP receiver accepted.", &S::exported,
               "signal"},
        Metric{kCounter, "rate_limiter_otlp_dropped_total",
               "Spans, data points and log records that were not exported.", &S::dropped, "signal"},
        Metric{kCounter, "rate_limiter_otlp_requests_total", "Requests to the OTLP receiver.",
               &S::requests, "result"}};
  }
};
static_assert(HasAllMetrics<ExportMetrics>);

struct ExporterOptions {
  http_client::ClientOptions client{};  ///< The receiver, and the headers: secrets.
  std::string path{};                   ///< Before /v1/traces; may be empty.
  Encoding encoding = Encoding::kProtobuf;
  Resource resource{};
  std::vector<std::pair<std::string, std::string>> labels{};  ///< Of every data point.
  Micros metrics_interval = std::chrono::minutes(1);          ///< 0: metrics are not exported.
  Micros tick = std::chrono::seconds(1);                      ///< Of spans and log records.
  Micros first_backoff = std::chrono::seconds(1);
};

/// Sends spans, log records and metrics to an OTLP receiver over HTTP, on a thread of its own.
/// Queues are bounded: what does not fit is dropped and counted. One request is under way at a
/// time; it is repeated only after the failures that the specification names, with a backoff.
class Exporter {
 public:
  static constexpr std::size_t kMaxQueuedRecords = 4096;
  static constexpr std::size_t kMaxRecordsPerRequest = 512;
  static constexpr std::size_t kMaxAttempts = 5;

  struct Sources {
    /// Asks loops for their spans; once in a tick. Returns whether there are any. Nullable.
    std::function<bool()> ask_for_spans{};
    /// Offers the spans that were given meanwhile.
    std::function<void()> take_spans{};
    std::function<void(telemetry::MetricSink&)> write_metrics{};
  };

  /// Fails with kInvalidOptions.
  static Result<std::unique_ptr<Exporter>> Create(const ExporterOptions& options,
                                                  telemetry::Log& log);
  ~Exporter();
  Exporter(const Exporter&) = delete;
  Exporter& operator=(const Exporter&) = delete;

  void Start(Sources sources);
  /// Sends what is queued, once, and ends. Returns false if it takes longer: a name is being looked
  /// up.
  [[nodiscard]] bool TryStop(Micros timeout);

  // ---- From any thread; none waits for the receiver.

  void OfferSpans(std::span<const telemetry::SpanRecord> records);
  void OfferDenial(const DenialRecord& record);
  void CountDropped(Signal signal, std::uint64_t count);
  [[nodiscard]] ExportMetrics Metrics() const;

 private:
  /// One body and what it carries.
  struct Request {
    Signal signal;
    std::string body;
    std::size_t records;
    std::size_t attempts = 0;
  };
  struct Answer {
    enum class Kind : std::uint8_t { kAccepted, kRetry, kFailed };
    Kind kind;
    std::optional<Micros> retry_after{};
    std::uint64_t rejected = 0;  ///< Records of a request that was accepted in part.
  };

  Exporter(const ExporterOptions& options, http_client::HttpClient client, telemetry::Log& log);

  void Run();
  void TakeLastSpans();
  void MakeRequests(SteadyTime now);
  void MakeMetricRequests();
  Answer Send(const Request& request);
  void SendAll(SteadyTime now);
  [[nodiscard]] std::uint64_t RejectedOf(const Request& request, std::string_view body) const;

  const ExporterOptions options_;
  http_client::HttpClient client_;
  telemetry::Log& log_;
  telemetry::LogEvery failure_log_{std::chrono::minutes(1)};
  Sources sources_;
  WallTime started_{};

  mutable std::mutex mutex_;  ///< Of the members up to the next blank line.
  std::condition_variable wake_;
  std::vector<telemetry::SpanRecord> spans_;
  std::vector<DenialRecord> denials_;
  ExportMetrics metrics_;
  bool stopping_ = false;

  // Of the thread.
  std::deque<Request> requests_;
  SteadyTime not_before_{};  ///< Backoff.
  SteadyTime next_metrics_{};

  std::promise<void> stopped_;
  std::future<void> done_ = stopped_.get_future();
  std::thread thread_;
};

}  // namespace sluice::otlp
