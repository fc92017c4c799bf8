#include "otlp/requests.h"

#include <string>

#include <gtest/gtest.h>

#include "base/json_reader.h"

namespace sluice::otlp {
namespace {

const Resource kResource{.version = "1.2", .attributes = {{"service.name", "sluice"}}};
constexpr WallTime kNow{std::chrono::seconds(1000)};

// tests/server/telemetry_test.py reads both encodings with opentelemetry-proto. These tests are
// about what a receiver does not see.

std::vector<std::pair<std::string, std::size_t>> RequestsOf(Encoding encoding, int series) {
  MetricRequests requests(encoding, kResource, {}, kNow, kNow);
  requests.Family("calls_total", MetricType::kCounter, "Calls.");
  for (int i = 0; i < series; ++i) {
    const std::string rule = std::to_string(i);
    requests.Sample({{"rule", rule}}, std::uint64_t{7});
  }
  requests.Family("up", MetricType::kGauge, "Up.");
  requests.Sample({}, std::uint64_t{1});
  requests.End();
  return requests.requests();
}

TEST(RequestsTest, MetricsAreSplitIntoRequestsOfBoundedSize) {
  for (const Encoding encoding : {Encoding::kProtobuf, Encoding::kJson}) {
    const auto requests = RequestsOf(encoding, 2 * MetricRequests::kMaxPoints);
    ASSERT_EQ(requests.size(), 3U);
    EXPECT_EQ(requests[0].second, MetricRequests::kMaxPoints);
    EXPECT_EQ(requests[2].second, 1U);
  }
}

TEST(RequestsTest, EveryRequestIsAWholeMessage) {
  for (const auto& [body, points] : RequestsOf(Encoding::kJson, 5000)) {
    JsonDocument document;
    const auto root = document.Parse(body);
    ASSERT_TRUE(root) << document.error();
    EXPECT_EQ(root->Find("resourceMetrics")->size(), 1U);
  }
}

TEST(RequestsTest, WithoutMetricsThereIsNoRequest) {
  MetricRequests requests(Encoding::kProtobuf, kResource, {}, kNow, kNow);
  requests.Family("calls_total", MetricType::kCounter, "Calls.");
  requests.End();
  EXPECT_TRUE(requests.requests().empty());
}

TEST(RequestsTest, TextsThatAreNotUtf8AreMadeValid) {
  std::string body;
  MessageWriter writer(Encoding::kProtobuf, body);
  writer.Text({1, "key"}, "a\xff");
  EXPECT_EQ(body,
            "\x0a\x04"
            "a\xEF\xBF\xBD");
}

TEST(RequestsTest, IdsAreHexadecimalInJson) {
  std::string body;
  MessageWriter writer(Encoding::kJson, body);
  writer.Id({1, "traceId"}, {0x0af7651916cd43dd, 1});
  writer.Int({2, "int"}, -1);
  writer.Finish();
  EXPECT_EQ(body, R"({"traceId":"0af7651916cd43dd0000000000000001","int":"-1"})");
}

}  // namespace
}  // namespace sluice::otlp
