#include "otlp/exporter.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace sluice::otlp {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A receiver that answers as the test says, and keeps what it gets.
class Receiver {
 public:
  Receiver() {
    const auto receive = [this](const httplib::Request& request, httplib::Response& response) {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      const int status = statuses_.empty() ? 200 : statuses_.front();
      if (!statuses_.empty()) statuses_.erase(statuses_.begin());
      response.status = status;
      for (const auto& [name, value] : headers_) response.set_header(name, value);
      response.set_content(body_, "application/x-protobuf");
      arrived_.notify_all();
    };
    server_.Post("/v1/traces", receive);
    server_.Post("/v1/metrics", receive);
    server_.Post("/v1/logs", receive);
    server_.Post("/other/v1/traces", receive);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Receiver() {
    server_.stop();
    thread_.join();
  }

  /// Answers with these, then with 200.
  void Answer(std::vector<int> statuses) {
    const std::lock_guard lock(mutex_);
    statuses_ = std::move(statuses);
  }
  void SetBody(std::string body) {
    const std::lock_guard lock(mutex_);
    body_ = std::move(body);
  }
  void SetHeader(const std::string& name, const std::string& value) {
    const std::lock_guard lock(mutex_);
    headers_.emplace_back(name, value);
  }
  std::vector<httplib::Request> WaitFor(std::size_t count) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, seconds(60), [&] { return requests_.size() >= count; });
    return requests_;
  }
  std::size_t received() {
    const std::lock_guard lock(mutex_);
    return requests_.size();
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  httplib::Server server_;
  int port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<httplib::Request> requests_;
  std::vector<int> statuses_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::string body_;
};

class ExporterTest : public testing::Test {
 protected:
  std::unique_ptr<Exporter> Make(const std::string& url, ExporterOptions options = {}) {
    options.client.server = url;
    options.client.total_timeout = options.client.timeout = options.client.connect_timeout =
        seconds(30);
    options.tick = milliseconds(1);
    options.first_backoff = milliseconds(1);
    options.metrics_interval = Micros{0};
    auto made = Exporter::Create(options, log_);
    EXPECT_TRUE(made) << made.error().message;
    (*made)->Start({.write_metrics = [](telemetry::MetricSink& sink) { sink.End(); }});
    return *std::move(made);
  }
  template <typename Condition>
  static bool Wait(Condition condition) {
    const SteadyTime end = SteadyClock::Now() + seconds(60);
    while (!condition()) {
      if (SteadyClock::Now() > end) return false;
      std::this_thread::sleep_for(milliseconds(1));
    }
    return true;
  }

  telemetry::Log log_{{.level = telemetry::LogLevel::kError}};
};

std::vector<telemetry::SpanRecord> Spans(std::size_t count) {
  return std::vector<telemetry::SpanRecord>(count, {.context = {.trace_low = 1}, .id = 2});
}

TEST_F(ExporterTest, SpansAndDenialsArriveWithTheHeaders) {
  Receiver receiver;
  const auto exporter = Make(receiver.url(), {.client = {.headers = {{"api-key", "secret"}}}});
  exporter->OfferSpans(Spans(3));
  const auto requests = receiver.WaitFor(1);
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].path, "/v1/traces");
  EXPECT_EQ(requests[0].get_header_value("api-key"), "secret");
  EXPECT_EQ(requests[0].get_header_value("content-type"), "application/x-protobuf");
  exporter->OfferDenial({});
  EXPECT_EQ(receiver.WaitFor(2)[1].path, "/v1/logs");
  EXPECT_TRUE(Wait([&] { return exporter->Metrics().exported[Signal::kLogs] == 1; }));
  EXPECT_EQ(exporter->Metrics().exported[Signal::kTraces], 3U);
}

TEST_F(ExporterTest, APathGoesBeforeTheSignalsOwn) {
  Receiver receiver;
  const auto exporter = Make(receiver.url(), {.path = "/other"});
  exporter->OfferSpans(Spans(1));
  EXPECT_EQ(receiver.WaitFor(1)[0].path, "/other/v1/traces");
}

TEST_F(ExporterTest, OnlyStatusesOfTheSpecificationAreRepeated) {
  for (const int status : {429, 502, 503, 504}) {
    Receiver receiver;
    receiver.Answer({status, status});
    const auto exporter = Make(receiver.url());
    exporter->OfferSpans(Spans(2));
    EXPECT_TRUE(Wait([&] { return exporter->Metrics().exported[Signal::kTraces] == 2; }));
    EXPECT_EQ(receiver.received(), 3U) << status;
    EXPECT_EQ(exporter->Metrics().requests[RequestResult::kRetried], 2U);
  }
  for (const int status : {301, 307, 400, 401, 404, 413, 500, 501}) {
    Receiver receiver;
    receiver.Answer({status});
    receiver.SetHeader("Location", "/other/v1/traces");
    const auto exporter = Make(receiver.url());
    exporter->OfferSpans(Spans(2));
    EXPECT_TRUE(Wait([&] { return exporter->Metrics().dropped[Signal::kTraces] == 2; }));
    exporter->OfferSpans(Spans(1));  // What comes later arrives.
    EXPECT_TRUE(Wait([&] { return exporter->Metrics().exported[Signal::kTraces] == 1; }));
    EXPECT_EQ(receiver.received(), 2U) << status;
  }
}

TEST_F(ExporterTest, ARequestThatNeverSucceedsIsGivenUpAndCounted) {
  Receiver receiver;
  receiver.Answer(std::vector<int>(Exporter::kMaxAttempts, 503));
  const auto exporter = Make(receiver.url());
  exporter->OfferSpans(Spans(7));
  EXPECT_TRUE(Wait([&] { return exporter->Metrics().dropped[Signal::kTraces] == 7; }));
  EXPECT_EQ(exporter->Metrics().requests[RequestResult::kFailed], 1U);
}

TEST_F(ExporterTest, RetryAfterIsHonored) {
  Receiver receiver;
  receiver.Answer({429});
  receiver.SetHeader("Retry-After", "3600");
  const auto exporter = Make(receiver.url());
  exporter->OfferSpans(Spans(1));
  EXPECT_TRUE(Wait([&] { return exporter->Metrics().requests[RequestResult::kRetried] == 1; }));
  exporter->OfferSpans(Spans(Exporter::kMaxQueuedRecords + 5));
  EXPECT_EQ(exporter->Metrics().dropped[Signal::kTraces], 5U);  // The queue is bounded.
  EXPECT_EQ(receiver.received(), 1U);
}

TEST_F(ExporterTest, APartialSuccessIsCountedAndNotRepeated) {
  Receiver receiver;
  receiver.SetBody(std::string("\x0a\x02\x08\x02", 4));  // partial_success { rejected_spans: 2 }
  const auto exporter = Make(receiver.url());
  exporter->OfferSpans(Spans(5));
  EXPECT_TRUE(Wait([&] { return exporter->Metrics().dropped[Signal::kTraces] == 2; }));
  EXPECT_EQ(exporter->Metrics().exported[Signal::kTraces], 3U);
  EXPECT_EQ(receiver.received(), 1U);
}

TEST_F(ExporterTest, APartialSuccessIsReadFromJsonToo) {
  Receiver receiver;
  receiver.SetBody(R"({"partialSuccess":{"rejectedSpans":"4","errorMessage":"no"}})");
  const auto exporter = Make(receiver.url(), {.encoding = Encoding::kJson});
  exporter->OfferSpans(Spans(5));
  EXPECT_TRUE(Wait([&] { return exporter->Metrics().dropped[Signal::kTraces] == 4; }));
}

TEST_F(ExporterTest, HostileBodiesOfResponsesAreIgnored) {
  for (const Encoding encoding : {Encoding::kProtobuf, Encoding::kJson}) {
    for (const std::string& body :
         {std::string("\x0a\xff", 2), std::string(1000, '\xff'), std::string("[]"),
          std::string(R"({"partialSuccess":[1]})"), std::string("\x0a\x02\x08\x7f", 4)}) {
      Receiver receiver;
      receiver.SetBody(body);
      const auto exporter = Make(receiver.url(), {.encoding = encoding});
      exporter->OfferSpans(Spans(1));
      EXPECT_TRUE(
          Wait([&] { return exporter->Metrics().requests[RequestResult::kAccepted] == 1; }));
      const ExportMetrics metrics = exporter->Metrics();
      EXPECT_EQ(metrics.exported[Signal::kTraces] + metrics.dropped[Signal::kTraces], 1U);
    }
  }
}

TEST_F(ExporterTest, WithoutAReceiverNothingWaitsAndTheEndComesAtOnce) {
  const auto exporter = Make("http://127.0.0.1:1");
  for (int i = 0; i < 10; ++i) exporter->OfferSpans(Spans(1000));
  EXPECT_TRUE(Wait([&] { return exporter->Metrics().dropped[Signal::kTraces] > 0; }));
  EXPECT_TRUE(exporter->TryStop(seconds(60)));
}

TEST_F(ExporterTest, AReceiverThatNeverAnswersDoesNotHoldUpTheEnd) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(listener, generic, size), 0);
  ASSERT_EQ(::listen(listener, 16), 0);
  ASSERT_EQ(::getsockname(listener, generic, &size), 0);
  auto exporter = Make("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  exporter->OfferSpans(Spans(1));
  const int connection = ::accept(listener, nullptr, nullptr);  // The request is under way.
  ASSERT_GE(connection, 0);
  exporter.reset();  // Does not wait for the timeout of half a minute.
  ::close(connection);
  ::close(listener);
}

TEST_F(ExporterTest, WhatIsQueuedIsSentAtTheEnd) {
  Receiver receiver;
  {
    ExporterOptions options;
    options.client.server = receiver.url();
    options.tick = std::chrono::hours(1);
    options.metrics_interval = std::chrono::hours(1);
    auto exporter = Exporter::Create(options, log_);
    ASSERT_TRUE(exporter);
    (*exporter)->Start({.write_metrics = [](telemetry::MetricSink& sink) {
      sink.Family("x_total", MetricType::kCounter, "X.");
      sink.Sample({}, std::uint64_t{1});
      sink.End();
    }});
    (*exporter)->OfferSpans(Spans(1));
    (*exporter)->OfferDenial({});
    EXPECT_TRUE((*exporter)->TryStop(seconds(60)));
  }
  EXPECT_EQ(receiver.received(), 3U);
}

TEST_F(ExporterTest, HeadersAreNotSentUnencryptedToOtherMachines) {
  ExporterOptions options;
  options.client = {.server = "http://192.0.2.1:4318", .headers = {{"authorization", "secret"}}};
  const auto made = Exporter::Create(options, log_);
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("unencrypted"), std::string::npos);
  EXPECT_EQ(made.error().message.find("secret"), std::string::npos);
}

}  // namespace
}  // namespace sluice::otlp
