#include "wire/http_response.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/http_reason.h"
#include "base/testing/allocations.h"

namespace sluice::wire {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kDate = "Sun, 06 Nov 1994 08:49:37 GMT";

TEST(HttpResponse, IsAFirstLineHeadersAndABody) {
  std::string output = "before";
  HttpResponse response(output, 200, kDate, {});
  response.Add("X-RateLimit-Limit", 100).Add("X-RateLimit-Policy", "degraded");
  response.Finish("application/json", "{}");
  EXPECT_EQ(output,
            "beforeHTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "X-RateLimit-Limit: 100\r\nX-RateLimit-Policy: degraded\r\n"
            "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

TEST(HttpResponse, HasAReasonPhraseForEachStatus) {
  for (const int status :
       {200, 400, 401, 403, 404, 405, 408, 413, 414, 417, 429, 431, 500, 501, 503, 505}) {
    std::string output;
    HttpResponse(output, status, kDate, {}).Finish();
    EXPECT_THAT(output, StartsWith("HTTP/1.1 " + std::to_string(status) + " " +
                                   std::string(HttpReason(status)) + "\r\nDate: Sun"));
    EXPECT_THAT(output, Not(HasSubstr("Unknown")));
    EXPECT_THAT(output, EndsWith("\r\nContent-Length: 0\r\n\r\n"));
  }
  EXPECT_EQ(HttpReason(299), "Unknown");
}

TEST(HttpResponse, WritesTheConnectionHeaderWhereItIsNotImplied) {
  const auto answer = [](int minor_version, bool keep_alive) {
    std::string output;
    HttpResponse(output, 200, kDate, {.minor_version = minor_version, .keep_alive = keep_alive})
        .Finish();
    return output;
  };
  EXPECT_THAT(answer(1, true), Not(HasSubstr("Connection")));
  EXPECT_THAT(answer(1, false), HasSubstr("\r\nConnection: close\r\n"));
  EXPECT_THAT(answer(0, true), HasSubstr("\r\nConnection: keep-alive\r\n"));
  EXPECT_THAT(answer(0, false), HasSubstr("\r\nConnection: close\r\n"));
}

TEST(HttpResponse, ThatIsPrivateIsNotStoredByCaches) {
  std::string output;
  HttpResponse(output, 200, kDate, {.is_private = true}).Finish("application/json", "{}");
  EXPECT_THAT(output, ::testing::HasSubstr("\r\nCache-Control: no-store\r\n"));
  EXPECT_THAT(output, ::testing::HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  output.clear();
  HttpResponse(output, 200, kDate, {}).Finish("application/json", "{}");
  EXPECT_THAT(output, ::testing::Not(::testing::HasSubstr("no-store")));
}

TEST(HttpResponse, ToHeadHasTheLengthAndNotTheBody) {
  std::string output;
  HttpResponse(output, 200, kDate, {.head_only = true}).Finish("text/plain", "hello");
  EXPECT_THAT(output, EndsWith("\r\nContent-Length: 5\r\n\r\n"));
}

TEST(HttpResponse, WithoutContentHasNoContentLength) {
  for (const int status : {204, 304}) {
    std::string output;
    HttpResponse(output, status, kDate, {}).Finish();
    EXPECT_THAT(output, Not(HasSubstr("Content-"))) << status;
    EXPECT_THAT(output, EndsWith("GMT\r\n\r\n"));
    output.clear();
    HttpResponse(output, status, kDate, {}).Finish("text/plain", "hello");
    EXPECT_THAT(output, EndsWith("GMT\r\n\r\n")) << "the next response would be misread";
    output.clear();
    HttpResponse response(output, status, kDate, {});
    response.BeginBody("text/plain") += "hello";
    response.EndBody();
    EXPECT_THAT(output, EndsWith("GMT\r\n\r\n"));
  }
}

TEST(HttpResponse, MeasuresABodyThatIsWrittenInPlace) {
  for (const std::size_t size : {0U, 7U, 123U, 100000U}) {
    std::string output = "before";
    HttpResponse response(output, 200, kDate, {});
    response.BeginBody("text/plain").append(size, 'x');
    response.EndBody();
    EXPECT_THAT(output, EndsWith("\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
                                 std::string(size, 'x')));
  }
}

TEST(HttpResponse, ToHeadMeasuresABodyThatIsWrittenInPlace) {
  std::string output;
  HttpResponse response(output, 200, kDate, {.head_only = true});
  response.BeginBody("text/plain") += "hello";
  response.EndBody();
  EXPECT_THAT(output, EndsWith("\r\nContent-Length: 5\r\n\r\n"));
}

TEST(HttpResponse, RemovesLineBreaksFromValues) {
  std::string output;
  HttpResponse response(output, 200, kDate, {});
  response.Add("X-Rule", "a\r\nSet-Cookie: b\nc\rd").Add("X-Null", std::string_view("a\0b", 3));
  response.Finish("text/plain\r\nX: y", "");
  EXPECT_THAT(output, HasSubstr("\r\nX-Rule: a  Set-Cookie: b c d\r\nX-Null: a b\r\n"));
  EXPECT_THAT(output, HasSubstr("\r\nContent-Type: text/plain  X: y\r\n"));
}

TEST(HttpResponse, DropsAHeaderWithAnInvalidName) {
  std::string output;
  HttpResponse response(output, 200, kDate, {});
  response.Add("", "a").Add("X Y", "a").Add("X:", "a").Add("X\r\nY", 1);
  response.Finish();
  EXPECT_THAT(output, EndsWith("GMT\r\nContent-Length: 0\r\n\r\n"));
}

TEST(HttpResponse, WritesAnyNumber) {
  std::string output;
  HttpResponse(output, 200, kDate, {})
      .Add("A", std::int64_t{-1})
      .Add("B", std::numeric_limits<std::int64_t>::min())
      .Finish();
  EXPECT_THAT(output, HasSubstr("\r\nA: -1\r\nB: -9223372036854775808\r\n"));
}

TEST(HttpResponse, AllocatesNothingIfTheBufferSuffices) {
  std::string output;
  output.reserve(4096);
  const auto before = Allocations();
  HttpResponse response(output, 503, kDate, {});
  response.Add("X-RateLimit-Limit", 100).Add("X-RateLimit-Policy", "degraded");
  response.BeginBody("application/json") += "{}";
  response.EndBody();
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace sluice::wire
