#include "simulate/access_log.h"

#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulate/trace_reader.h"

namespace sluice::simulate {
namespace {

// The row of a trace, or the problem.
std::string Converted(const std::string& line) {
  AccessLogParser parser;
  TraceRow row;
  const std::string problem = parser.Read(line, row);
  if (!problem.empty()) return problem;
  std::string out;
  AppendLogTraceRow(row, out);
  out.pop_back();
  return out;
}

TEST(AccessLogTest, CombinedAndCommonLinesAreCallsInUtc) {
  EXPECT_EQ(
      Converted(R"(192.0.2.7 - - [15/Nov/2026:12:00:01 +0100] "GET /v1/orders?page=2 HTTP/1.1" )"
                R"(200 612 "https://example.com/" "curl/8.5")"),
      "2026-11-15T11:00:01Z,192.0.2.7,,GET,,/v1/orders,");
  EXPECT_EQ(
      Converted(R"(2001:db8::1 - alice [01/Jan/2027:00:30:00 +0000] "POST /a,b HTTP/2.0" 429 0)"),
      R"(2027-01-01T00:30:00Z,2001:db8::1,alice,POST,,"/a,b",)");
}

TEST(AccessLogTest, NamesWithBlanksAndEscapedQuotesAreRead) {
  EXPECT_EQ(
      Converted(R"(192.0.2.7 - a b [15/Nov/2026:12:00:01 -0930] "GET /say\"hi\" HTTP/1.1" 200 1)"),
      R"(2026-11-15T21:30:01Z,192.0.2.7,a b,GET,,"/say\""hi\""",)");
}

TEST(AccessLogTest, JsonLinesHaveNamesOfNginxOrUsualOnes) {
  EXPECT_EQ(Converted(R"({"time_iso8601":"2026-11-15T12:00:01+01:00","remote_addr":"192.0.2.7",)"
                      R"("remote_user":"","request_method":"GET","request_uri":"/v1/a?b",)"
                      R"("host":"api.example.com","request_time":0.25})"),
            "2026-11-15T11:00:01Z,192.0.2.7,,GET,api.example.com,/v1/a,0.250000");
  EXPECT_EQ(Converted(R"({"msec":1794744000.5,"ip":"192.0.2.7","request":"PUT /x HTTP/1.1"})"),
            "2026-11-15T12:00:00.5Z,192.0.2.7,,PUT,,/x,");
}

TEST(AccessLogTest, BadLinesSayWhatIsWrong) {
  EXPECT_EQ(Converted(""), "not a line of an access log");
  EXPECT_EQ(Converted("a b"), "not a line of an access log");
  EXPECT_EQ(Converted("192.0.2.7 - - [15/Nov/2026:12:00:01 +0100"), "not a line of an access log");
  EXPECT_EQ(Converted(R"(192.0.2.7 - - [15/Foo/2026:12:00:01 +0100] "GET / HTTP/1.1" 200 1)"),
            "the time is not one such as 15/Nov/2026:12:00:00 +0100");
  EXPECT_EQ(Converted(R"(host.example - - [15/Nov/2026:12:00:01 +0100] "GET / HTTP/1.1" 200 1)"),
            "the client is not an IP address");
  for (const char* request : {R"("-")", R"("\x16\x03\x01")", R"("GET")", R"("GET /)", ""}) {
    EXPECT_EQ(Converted("192.0.2.7 - - [15/Nov/2026:12:00:01 +0100] " + std::string(request)),
              "the request has no method and path")
        << request;
  }
  EXPECT_EQ(Converted("{"), "not a JSON object");
  EXPECT_EQ(Converted("{}"), "has no time");
  EXPECT_EQ(Converted(R"({"time":"soon"})"), "the time can't be read");
  EXPECT_EQ(Converted(R"({"time":1794744000})"), "has no IP address of a client");
}

TEST(AccessLogTest, ATraceOfALogIsReadBack) {
  AccessLogParser parser;
  TraceRow row;
  ASSERT_EQ(parser.Read(
                R"(192.0.2.7 - "x, y" [15/Nov/2026:12:00:01 +0000] "GET /a HTTP/1.1" 200 1)", row),
            "");
  std::string trace(LogTraceHeader());
  AppendLogTraceRow(row, trace);
  TraceReader reader([&, at = std::size_t{0}](std::span<char> into) mutable {
    const std::size_t size = std::min(into.size(), trace.size() - at);
    std::memcpy(into.data(), trace.data() + at, size);
    at += size;
    return size;
  });
  ASSERT_EQ(reader.Next(), TraceReader::Item::kCall) << reader.problem();
  EXPECT_EQ(reader.row().time, row.time);
  ASSERT_EQ(reader.row().attributes.size(), 4U);
  EXPECT_EQ(reader.row().attributes[1].value, "\"x, y\"");
}

}  // namespace
}  // namespace sluice::simulate
