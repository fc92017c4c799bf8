#include "wire/http_reader.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "wire/testing/http_events.h"

namespace sluice::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using HttpReaderStatus = HttpReader::Status;

// The status of the error that these bytes end in; 0 if they end in none.
int ErrorOf(std::string_view bytes, const HttpLimits& limits = {}) {
  HttpReader reader(limits);
  HttpReaderStatus status = HttpReaderStatus::kMore;
  do {
    status = reader.Read(bytes);
  } while (status == HttpReaderStatus::kRequest || status == HttpReaderStatus::kContinue);
  return reader.error().status;
}

std::string Get(std::string_view headers, std::string_view version = "1.1") {
  return "GET / HTTP/" + std::string(version) + "\r\n" + std::string(headers) + "\r\n";
}

std::string Chunked(std::string_view body) {
  return "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

class Reading {
 public:
  explicit Reading(std::string bytes) : bytes_(std::move(bytes)), rest_(bytes_) {
    status_ = reader_.Read(rest_);
  }
  const HttpRequest& request() {
    EXPECT_EQ(status_, HttpReaderStatus::kRequest) << reader_.error().reason;
    return reader_.request();
  }

 private:
  std::string bytes_;
  std::string_view rest_;
  HttpReader reader_;
  HttpReaderStatus status_;
};

TEST(HttpReader, ParsesAWholeRequest) {
  Reading reading(
      "GET /api/check?key=user:1&a HTTP/1.1\r\nHost: a.example:80\r\n"
      "x-api-key:\t demo-key \t\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\n"
      "X-Other: b, c\r\nX-Empty:\r\n\r\n");
  const HttpRequest& request = reading.request();
  EXPECT_EQ(request.verb, HttpMethod::kGet);
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.target, "/api/check?key=user:1&a");
  EXPECT_EQ(request.path, "/api/check");
  EXPECT_EQ(request.query, "key=user:1&a");
  EXPECT_EQ(request.host, "a.example:80");
  EXPECT_EQ(request.minor_version, 1);
  EXPECT_TRUE(request.keep_alive);
  EXPECT_FALSE(request.expects_continue);
  EXPECT_EQ(request.headers.size(), 6U);
  EXPECT_EQ(request.Get(HttpName::kXApiKey), "demo-key");
  EXPECT_EQ(request.Get(HttpName::kXForwardedFor), "1.1.1.1") << "the first of them";
  EXPECT_EQ(request.headers[3].id, HttpName::kXForwardedFor);
  EXPECT_EQ(request.headers[3].value, "2.2.2.2");
  EXPECT_EQ(request.Find(HttpName::kCookie), nullptr);
  EXPECT_EQ(request.Get("x-OTHER"), "b, c");
  EXPECT_NE(request.Find("x-empty"), nullptr);
  EXPECT_EQ(request.Get("x-empty"), "");
  EXPECT_EQ(request.Find("x-none"), nullptr);
  EXPECT_EQ(request.Find(HttpName::kOther), nullptr);
  EXPECT_EQ(request.body, "");
}

TEST(HttpReader, KnowsTheMethods) {
  const auto verb = [](const std::string& method) {
    return Reading(method + " / HTTP/1.1\r\nHost: a\r\n\r\n").request().verb;
  };
  EXPECT_EQ(verb("GET"), HttpMethod::kGet);
  EXPECT_EQ(verb("HEAD"), HttpMethod::kHead);
  EXPECT_EQ(verb("POST"), HttpMethod::kPost);
  EXPECT_EQ(verb("PUT"), HttpMethod::kPut);
  EXPECT_EQ(verb("PATCH"), HttpMethod::kPatch);
  EXPECT_EQ(verb("DELETE"), HttpMethod::kDelete);
  EXPECT_EQ(verb("OPTIONS"), HttpMethod::kOptions);
  EXPECT_EQ(verb("PROPFIND"), HttpMethod::kOther);
  EXPECT_EQ(verb("get"), HttpMethod::kOther) << "methods are case-sensitive";
  EXPECT_EQ(verb("M-SEARCH"), HttpMethod::kOther);
}

TEST(HttpReader, ParsesTargetsOfEachForm) {
  const auto of = [](const std::string& line) {
    Reading reading(line + "\r\nHost: h\r\n\r\n");
    const HttpRequest& request = reading.request();
    return std::string(request.path) + " ?" + std::string(request.query) + " @" +
           std::string(request.host);
  };
  EXPECT_EQ(of("GET / HTTP/1.1"), "/ ? @h");
  EXPECT_EQ(of("GET /a?b?c HTTP/1.1"), "/a ?b?c @h");
  EXPECT_EQ(of("GET /? HTTP/1.1"), "/ ? @h");
  EXPECT_EQ(of("GET /%zz HTTP/1.1"), "/%zz ? @h") << "decoding is another's business";
  EXPECT_EQ(of("GET //a HTTP/1.1"), "//a ? @h");
  EXPECT_EQ(of("GET http://x:1/a?b HTTP/1.1"), "/a ?b @x:1");
  EXPECT_EQ(of("GET HTTPS://x HTTP/1.1"), "/ ? @x");
  EXPECT_EQ(of("GET http://x?a=/b HTTP/1.1"), "/ ?a=/b @x");
  EXPECT_EQ(of("GET http://[::1]:80/ HTTP/1.1"), "/ ? @[::1]:80");
  EXPECT_EQ(of("OPTIONS * HTTP/1.1"), "* ? @h");
}

TEST(HttpReader, RefusesRequestLines) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"GET  / HTTP/1.1", 400},
      {"GET /  HTTP/1.1", 400},
      {" GET / HTTP/1.1", 400},
      {"GET\t/ HTTP/1.1", 400},
      {"GET /\tHTTP/1.1", 400},
      {"GET / HTTP/1.1 ", 400},
      {"GET /", 400},
      {"GET", 400},
      {"G(T / HTTP/1.1", 400},
      {"GET HTTP/1.1", 400},
      {"GET a HTTP/1.1", 400},
      {"GET * HTTP/1.1", 400},
      {"GET ?a HTTP/1.1", 400},
      {"GET /a#b HTTP/1.1", 400},
      {"GET /?a#b HTTP/1.1", 400},
      {"GET /\x80 HTTP/1.1", 400},
      {"GET /\x7F HTTP/1.1", 400},
      {"GET /a\rb HTTP/1.1", 400},
      {"GET ftp://a/ HTTP/1.1", 400},
      {"GET http:///a HTTP/1.1", 400},
      {"GET http:/a HTTP/1.1", 400},
      {"GET http://u@a/ HTTP/1.1", 400},
      {"GET / http/1.1", 400},
      {"GET / HTTP/1", 400},
      {"GET / HTTP/11", 400},
      {"GET / HTTP/1.10", 400},
      {"GET / HTTP/a.1", 400},
      {"GET / HTTP/1,1", 400},
      {"GET / HTTP 1.1", 400},
      {"GET / HTTP/2", 400},
      {"GET / HTTP/2.0", 505},
      {"GET / HTTP/0.9", 505},
      {"GET / HTTP/3.1", 505},
      {"PRI * HTTP/2.0", 505},
      {"CONNECT a:80 HTTP/1.1", 501},
      {"\x16\x03\x01\x02", 400},
  };
  for (const auto& [line, status] : cases) {
    EXPECT_EQ(ErrorOf(line + "\r\nHost: a\r\n\r\n"), status) << line;
  }
}

TEST(HttpReader, ReportsWhyHttp2IsRejected) {
  EXPECT_THAT(ReadWhole("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
              ElementsAre(::testing::AllOf(StartsWith("505 "), HasSubstr("HTTP/2"))));
}

TEST(HttpReader, RefusesHeaderLines) {
  for (const std::string_view headers : {
           "Host: a\nX: b\r\n",          // Line feeds alone.
           "Host: a\r\nX: b\n\r\n",      //
           "Host: a\r\nX: b\rc\r\n",     // A carriage return alone.
           "Host: a\r\nX: b\r\r\n",      //
           "Host: a\r\n\rX: b\r\n",      //
           "Host: a\r\nX: b\r\n c\r\n",  // Folded lines.
           "Host: a\r\n\tc\r\n",         //
           "Host : a\r\n",               // A blank before the colon.
           "Host\t: a\r\n",              //
           " Host: a\r\n",               //
           "Host: a\r\nX\r\n",           // No colon.
           "Host: a\r\n: b\r\n",         // No name.
           "Host: a\r\nX(: b\r\n",       // No token.
           "Host: a\r\nX\x80: b\r\n",    //
           "Host: a\r\nX: \x01\r\n",     // Control bytes.
           "Host: a\r\nX: \x7F\r\n",     //
           "Host: a\r\nX: b\x0B\r\n",    //
       }) {
    EXPECT_EQ(ErrorOf(Get(headers)), 400) << headers;
  }
  EXPECT_EQ(ErrorOf(Get(std::string_view("Host: a\r\nX: b\0c\r\n", 17))), 400);
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nX: \x80\xFF\tb\r\n")), 0) << "other bytes are text";
}

TEST(HttpReader, RequiresExactlyOneHost) {
  EXPECT_EQ(ErrorOf(Get("")), 400);
  EXPECT_EQ(ErrorOf(Get("X: a\r\n")), 400);
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nhost: a\r\n")), 400);
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nHost: b\r\n", "1.0")), 400);
  EXPECT_EQ(ErrorOf(Get("Host: a, b\r\n")), 400);
  EXPECT_EQ(ErrorOf(Get("Host: a/b\r\n")), 400);
  EXPECT_EQ(ErrorOf(Get("Host: a@b\r\n")), 400);
  EXPECT_EQ(ErrorOf("GET http://a/ HTTP/1.1\r\n\r\n"), 400) << "an absolute target is no excuse";
  EXPECT_EQ(ErrorOf(Get("Host:\r\n")), 0) << "may be empty";
  EXPECT_EQ(ErrorOf(Get("Host: [::1]:8080\r\n")), 0);
  EXPECT_EQ(ErrorOf(Get("", "1.0")), 0);
}

TEST(HttpReader, RefusesBodiesOfAmbiguousLength) {
  const std::vector<std::pair<std::string, int>> cases = {
      {"Content-Length: 5\r\nContent-Length: 6\r\n", 400},
      {"Content-Length: 5, 5\r\n", 400},
      {"Content-Length: +5\r\n", 400},
      {"Content-Length: -5\r\n", 400},
      {"Content-Length: 0x5\r\n", 400},
      {"Content-Length: 5 5\r\n", 400},
      {"Content-Length: 5.0\r\n", 400},
      {"Content-Length:\r\n", 400},
      {"Content-Length: 99999999999999999999999999\r\n", 413},
      {"Content-Length: 18446744073709551621\r\n", 413},
      {"Content-Length: 1048577\r\n", 413},
      {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400},
      {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
      {"Transfer-Encoding: gzip, chunked\r\n", 501},
      {"Transfer-Encoding: chunked, identity\r\n", 501},
      {"Transfer-Encoding: identity\r\n", 501},
      {"Transfer-Encoding: xchunked\r\n", 501},
      {"Transfer-Encoding: \"chunked\"\r\n", 501},
      {"Transfer-Encoding: chunked;a\r\n", 501},
      {"Transfer-Encoding:\r\n", 501},
      {"Transfer-Encoding : chunked\r\n", 400},
      {"Transfer-Encoding: chunked\r\n", 0},
      {"transfer-encoding: Chunked\r\n", 0},
      {"Content-Length: 5\r\nContent-Length: 5\r\n", 0},
      {"Content-Length: 00005\r\n", 0},
      {"Content-Length: 1048576\r\n", 0},
  };
  for (const auto& [headers, status] : cases) {
    EXPECT_EQ(ErrorOf(Get("Host: a\r\n" + headers)), status) << headers;
  }
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nTransfer-Encoding: chunked\r\n", "1.0")), 400);
}

TEST(HttpReader, TakesABodyOfItsLength) {
  EXPECT_EQ(Reading("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello").request().body,
            "hello");
  EXPECT_EQ(Reading("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n").request().body, "");
}

TEST(HttpReader, ConcatenatesChunks) {
  EXPECT_EQ(Reading(Chunked("5\r\nhello\r\n00B\r\n, you there\r\n0\r\n\r\n")).request().body,
            "hello, you there");
  EXPECT_EQ(Reading(Chunked("0\r\n\r\n")).request().body, "");
  EXPECT_EQ(Reading(Chunked("3;a;b=\"c\"\r\nabc\r\n0;d\r\nX-T: a\r\nX-U:\r\n\r\n")).request().body,
            "abc");
  EXPECT_EQ(Reading(Chunked("1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n")).request().body.size(),
            26U);
}

TEST(HttpReader, RefusesChunks) {
  for (const std::string_view body : {
           "\r\n",
           "g\r\n",
           "-1\r\n",
           "0x5\r\nhello\r\n",
           " 5\r\nhello\r\n",
           "5 \r\nhello\r\n",
           "5 ;a\r\nhello\r\n",
           "5\nhello\r\n",
           "5\rhello\r\n",
           "5;a\nhello\r\n",
           "5;a\rb\r\nhello\r\n",
           "5;\x01\r\nhello\r\n",
           "5\r\nhello!\r\n",
           "5\r\nhello\n0\r\n\r\n",
           "5\r\nhello\r0\r\n\r\n",
           "5\r\nhello\r\n\r\n",
           "00000000000000001\r\na\r\n",
           "0\r\n\n",
           "0\r\n\ra",
           "0\r\nX\r\n\r\n",
           "0\r\n X: a\r\n\r\n",
           "0\r\nX : a\r\n\r\n",
           "0\r\nX: a\n\r\n",
           "0\r\nX: a\rb\r\n\r\n",
           "0\r\nX: \x01\r\n\r\n",
       }) {
    EXPECT_EQ(ErrorOf(Chunked(body)), 400) << body;
  }
}

TEST(HttpReader, StopsAtItsLimits) {
  const HttpLimits limits = {
      .max_request_line = 20, .max_header_bytes = 30, .max_headers = 3, .max_body = 10};
  const auto error = [&](const std::string& bytes) { return ErrorOf(bytes, limits); };
  EXPECT_EQ(error("GET /234567 HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
  EXPECT_EQ(error("GET /2345678 HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(error("GET /234567890123456789"), 414) << "without waiting for the end";
  EXPECT_EQ(error("GETGETGETGETGETGETGETGETGETGET"), 414);

  EXPECT_EQ(error(Get("Host: a\r\nX: 4567890123456789\r\n")), 0);
  EXPECT_EQ(error(Get("Host: a\r\nX: 45678901234567890\r\n")), 431);
  EXPECT_EQ(error("GET / HTTP/1.1\r\nHost: a\r\nX: 456789012345678901234"), 431);
  EXPECT_EQ(error(Get("Host: a\r\nX: 1\r\nX: 2\r\n")), 0);
  EXPECT_EQ(error(Get("Host:\r\nX: 1\r\nX: 2\r\nX: 3\r\n")), 431);

  const std::string chunked = "POST / HTTP/1.1\r\nHost:\r\nTransfer-Encoding:chunked\r\n\r\n";
  const HttpLimits wider = {.max_header_bytes = 40, .max_headers = 2, .max_body = 10};
  const auto chunks = [&](const std::string& body) { return ErrorOf(chunked + body, wider); };
  EXPECT_EQ(error("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:10\r\n\r\n"), 0);
  EXPECT_EQ(error("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:11\r\n\r\n"), 413);
  EXPECT_EQ(chunks("a\r\n0123456789\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(chunks("b\r\n"), 413);
  EXPECT_EQ(chunks("ffffffffffffffff\r\n"), 413);
  EXPECT_EQ(chunks("5\r\n01234\r\n5\r\n01234\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(chunks("5\r\n01234\r\n6\r\n"), 413);
  EXPECT_EQ(chunks("1;" + std::string(39, 'a') + "\r\n0"), 0);
  EXPECT_EQ(chunks("1;" + std::string(40, 'a') + "\r\n0"), 431);
  EXPECT_EQ(chunks("1;" + std::string(30, 'a') + "\r\n0\r\n1;" + std::string(30, 'a')), 431)
      << "all extensions together";
  EXPECT_EQ(chunks("0\r\nA: 1\r\nB: 2\r\n\r\n"), 0);
  EXPECT_EQ(chunks("0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n"), 431);
  EXPECT_EQ(chunks("0\r\nA: " + std::string(40, 'a')), 431);
}

TEST(HttpReader, HasDefaultLimits) {
  EXPECT_EQ(ErrorOf("GET /" + std::string(8178, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
  EXPECT_EQ(ErrorOf("GET /" + std::string(8179, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nX: " + std::string(16370, 'a') + "\r\n")), 0);
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nX: " + std::string(16371, 'a') + "\r\n")), 431);
  std::string headers = "Host: a\r\n";
  for (int i = 1; i < 100; ++i) headers += "A: b\r\n";
  EXPECT_EQ(ErrorOf(Get(headers)), 0);
  EXPECT_EQ(ErrorOf(Get(headers + "A: b\r\n")), 431);
}

TEST(HttpReader, KeepAliveDependsOnVersionAndConnectionHeader) {
  const auto keep = [](std::string_view version, const std::string& headers) {
    return Reading(Get("Host: a\r\n" + headers, version)).request().keep_alive;
  };
  EXPECT_TRUE(keep("1.1", ""));
  EXPECT_TRUE(keep("1.2", "")) << "as the latest version that is known";
  EXPECT_FALSE(keep("1.1", "Connection: close\r\n"));
  EXPECT_FALSE(keep("1.1", "connection: Upgrade ,\tCLOSE\r\n"));
  EXPECT_FALSE(keep("1.1", "Connection: keep-alive\r\nConnection: close\r\n"));
  EXPECT_TRUE(keep("1.1", "Connection: closed, ,x\r\n"));
  EXPECT_FALSE(keep("1.0", ""));
  EXPECT_TRUE(keep("1.0", "Connection: Keep-Alive\r\n"));
  EXPECT_FALSE(keep("1.0", "Connection: keep-alive, close\r\n"));
}

TEST(HttpReader, ALargeBodyIsReadOnlyIfAllowed) {
  constexpr HttpLimits kLimits{.max_body = 4, .max_large_body = 8};
  const std::string fixed = "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n";
  const std::string chunked = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& [head, body] : {std::pair(fixed, std::string("12345678")),
                                   {chunked, "4\r\n1234\r\n4\r\n5678\r\n0\r\n\r\n"}}) {
    for (const bool allow : {false, true}) {
      HttpReader reader(kLimits);
      {
        const std::string gone = head;
        std::string_view bytes = gone;
        ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kLargeBody);
        EXPECT_TRUE(bytes.empty());
      }
      EXPECT_TRUE(reader.in_request());
      EXPECT_EQ(reader.request().host, "a") << "its head can be looked at";
      if (allow) reader.AllowLargeBody();
      std::string_view bytes = body;
      if (!allow) {
        ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kError);
        EXPECT_EQ(reader.error().status, 413);
        continue;
      }
      ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kRequest);
      EXPECT_EQ(reader.request().body, "12345678");
      // The next request has the usual limit again.
      const std::string next = fixed + body;
      bytes = next;
      ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kLargeBody);
      EXPECT_EQ(reader.Read(bytes), HttpReaderStatus::kError);
    }
  }
}

TEST(HttpReader, ABodyAboveAllLimitsIsRejectedWithItsHead) {
  constexpr HttpLimits kLimits{.max_body = 4, .max_large_body = 8};
  EXPECT_EQ(ErrorOf("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n", kLimits), 413);
  HttpReader reader(kLimits);
  const std::string text = Chunked("9\r\n");
  std::string_view bytes = text;
  ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kLargeBody);
  reader.AllowLargeBody();
  ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kError);
  EXPECT_EQ(reader.error().status, 413);
}

TEST(HttpReader, ALargeBodyMayWaitForContinue) {
  constexpr HttpLimits kLimits{.max_body = 4, .max_large_body = 8};
  HttpReader reader(kLimits);
  std::string_view bytes =
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\nExpect: 100-continue\r\n\r\n";
  ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kLargeBody);
  reader.AllowLargeBody();
  ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kContinue);
  bytes = "12345678";
  ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kRequest);
  EXPECT_EQ(reader.request().body, "12345678");
}

TEST(HttpReader, RequestsABodyThatWaitsForContinue) {
  const std::string head =
      "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-Continue\r\n\r\n";
  HttpReader reader;
  {
    const std::string gone = head;
    std::string_view bytes = gone;
    ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kContinue);
    EXPECT_TRUE(bytes.empty());
  }
  EXPECT_TRUE(reader.in_request());
  EXPECT_EQ(reader.request().Get(HttpName::kExpect), "100-Continue") << "its head can be looked at";
  std::string_view bytes;
  EXPECT_EQ(reader.Read(bytes), HttpReaderStatus::kMore) << "once only";
  bytes = "hello";
  ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kRequest);
  EXPECT_EQ(reader.request().body, "hello");
  EXPECT_EQ(reader.request().host, "a");

  EXPECT_EQ(ReadWhole(head + "hello").size(), 2U) << "also if the body did not wait";
  EXPECT_EQ(ReadWhole(Get("Host: a\r\nExpect: 100-continue\r\n")).size(), 1U) << "there is no body";
  EXPECT_THAT(ReadWhole("POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\na"),
              ElementsAre(StartsWith("POST / HTTP/1.0")));
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nExpect: 200-ok\r\n")), 417);
  EXPECT_EQ(ErrorOf(Get("Host: a\r\nContent-Length: 9999999\r\nExpect: 100-continue\r\n")), 413);
}

TEST(HttpReader, SkipsAtMostTwoEmptyLines) {
  EXPECT_EQ(ReadWhole("\r\n\r\n" + Get("Host: a\r\n")).size(), 1U);
  EXPECT_EQ(ErrorOf("\r\n\r\n\r\n" + Get("Host: a\r\n")), 400);
  EXPECT_EQ(ErrorOf("\n" + Get("Host: a\r\n")), 400);
  EXPECT_EQ(ErrorOf("\r" + Get("Host: a\r\n")), 400);
  const std::string two = Get("Host: a\r\n") + "\r\n\r\n" + Get("Host: b\r\n");
  EXPECT_EQ(ReadWhole(two).size(), 2U);
}

TEST(HttpReader, ReportsWhetherARequestHasBegun) {
  HttpReader reader;
  const auto after = [&](std::string_view bytes) {
    while (reader.Read(bytes) == HttpReaderStatus::kRequest && !bytes.empty()) {
    }
    return reader.in_request();
  };
  EXPECT_FALSE(after(""));
  EXPECT_FALSE(after("\r\n\r"));
  EXPECT_FALSE(after("\n"));
  EXPECT_TRUE(after("G"));
  EXPECT_TRUE(after("ET / HTTP/1.0\r\n"));
  EXPECT_FALSE(after("\r\n"));
  EXPECT_TRUE(after("POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\n1"));
  EXPECT_FALSE(after("2"));
  EXPECT_TRUE(after("GET / HTTP/1.0\r\n\r\nGET "));
}

TEST(HttpReader, ReadsNothingAfterAnError) {
  HttpReader reader;
  std::string_view bytes = "nonsense\r\n";
  EXPECT_EQ(reader.Read(bytes), HttpReaderStatus::kError);
  const std::string good = Get("Host: a\r\n");
  bytes = good;
  EXPECT_EQ(reader.Read(bytes), HttpReaderStatus::kError);
  EXPECT_EQ(reader.error().status, 400);
}

TEST(HttpReader, DoesNotCopyACompleteRequest) {
  const std::string text = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxy";
  std::string_view bytes = text;
  HttpReader reader;
  ASSERT_EQ(reader.Read(bytes), HttpReaderStatus::kRequest);
  EXPECT_EQ(reader.request().method.data(), text.data());
  EXPECT_EQ(reader.request().body.data(), text.data() + text.size() - 2);
}

TEST(HttpReader, AllocatesNothingInTheSteadyState) {
  const std::string text = Get("Host: a\r\nUser-Agent: b\r\nAccept: */*\r\n") +
                           Chunked("5\r\nhello\r\n0\r\n\r\n") +
                           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n"
                           "12345678901234567890";
  HttpReader reader;
  const auto read = [&](std::size_t piece) {
    int requests = 0;
    for (std::size_t at = 0; at < text.size(); at += piece) {
      std::string_view bytes = std::string_view(text).substr(at, piece);
      while (reader.Read(bytes) == HttpReaderStatus::kRequest) ++requests;
    }
    return requests;
  };
  EXPECT_EQ(read(1), 3);
  const std::size_t before = Allocations();
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, text.size()}) {
    EXPECT_EQ(read(piece), 3);
  }
  EXPECT_EQ(Allocations() - before, 0U);
}

}  // namespace
}  // namespace sluice::wire
