#include "api/http_session.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kCheck =
    "GET /api/v1/rate-limit/check?key=alice HTTP/1.1\r\nHost: h\r\n\r\n";

class HttpSessionTest : public testing::HttpTest {
 protected:
  static std::size_t Count(std::string_view text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string_view::npos;
         at = text.find(part, at + part.size())) {
      ++count;
    }
    return count;
  }
};

TEST_F(HttpSessionTest, WhatIsAnsweredDoesNotDependOnWhereTheBytesWereSplit) {
  Load(testing::kThreeAMinute);
  const std::string bytes =
      std::string(kCheck) +
      "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: 29\r\n\r\n"
      "{\"attributes\":{\"user\":\"bob\"}}"
      "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\n{\"key\r\n8\r\n\":\"carl\"\r\n1\r\n}\r\n0\r\n\r\n"
      "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n";
  std::string expected;
  const auto without_receipts = [](std::string text) {
    for (std::size_t at = text.find("\"receipt\":\""); at != std::string::npos;
         at = text.find("\"receipt\":\"", at + 11)) {
      text.erase(at + 11, text.find('"', at + 11) - at - 11);
    }
    return text;
  };
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    store_.failure.reset();
    session_.reset();
    Start();
    std::string heard = Send(std::string_view(bytes).substr(0, split));
    heard += Send(std::string_view(bytes).substr(split));
    Request("DELETE", "/api/v1/rate-limit/reset?key=alice");
    Request("DELETE", "/api/v1/rate-limit/reset?key=carl");
    Request("DELETE", "/api/v1/rate-limit/reset?user=bob");
    heard = without_receipts(heard);
    if (split == 0) expected = heard;
    ASSERT_EQ(heard, expected) << "split at " << split;
  }
  EXPECT_EQ(Count(expected, "HTTP/1.1 200 OK"), 3U) << expected;
  EXPECT_EQ(Count(expected, "HTTP/1.1 404 Not Found"), 1U);
}

TEST_F(HttpSessionTest, AnAsynchronousStoreIsAnsweredInTheOrderOfTheRequests) {
  Load(testing::kThreeAMinute);
  Start();
  store_.answers_later = true;
  std::string bytes;
  for (const char* key : {"a", "b", "c"}) {
    bytes +=
        "GET /api/v1/rate-limit/check?key=" + std::string(key) + " HTTP/1.1\r\nHost: h\r\n\r\n";
    bytes += "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  EXPECT_EQ(Send(bytes), "");
  EXPECT_EQ(session_->pending(), 3U);
  store_.Answer(2, /*last_first=*/true);
  EXPECT_EQ(Taken(), "") << "the first is still missing";
  store_.Answer(1);
  const std::string heard = Taken();
  EXPECT_EQ(Count(heard, "HTTP/1.1 200 OK"), 6U);
  EXPECT_LT(heard.find("\"key\":\"a\""), heard.find("\"key\":\"b\""));
  EXPECT_LT(heard.find("\"key\":\"b\""), heard.find("\"key\":\"c\""));
  EXPECT_GT(carrier_.told, 0U);
  EXPECT_EQ(session_->pending(), 0U);
  EXPECT_EQ(host_.answers, 3U);
}

TEST_F(HttpSessionTest, ASessionMayEndWhileAStoreStillWorks) {
  Load(testing::kThreeAMinute);
  Start();
  store_.answers_later = true;
  Send(kCheck);
  session_.reset();
  store_.Answer(1);
  EXPECT_EQ(host_.answers, 1U) << "what was decided is counted all the same";
  Connect();
  store_.answers_later = false;
  EXPECT_THAT(Send(kCheck), HasSubstr("\"remaining\":1"));
}

TEST_F(HttpSessionTest, PastTheMostThatMayWaitRequestsAreKeptAndAnsweredLater) {
  Load("rules: [{ id: api, algorithm: fixed_window, limit: 100000, window: 60 }]");
  Start();
  store_.answers_later = true;
  std::string bytes;
  for (std::size_t i = 0; i < kUsualMaxPending + 10; ++i) bytes += kCheck;
  Send(bytes);
  EXPECT_EQ(session_->pending(), kUsualMaxPending);
  EXPECT_FALSE(session_->in_request()) << "it is the store that is slow, not the client";
  store_.Answer(kUsualMaxPending);
  store_.Answer(10);
  EXPECT_EQ(Count(Taken(), "HTTP/1.1 200 OK"), kUsualMaxPending + 10);
}

TEST_F(HttpSessionTest, HowManyMayWaitCanBeConfigured) {
  options_.max_pending = 3;
  Load(testing::kThreeAMinute);
  Start();
  store_.answers_later = true;
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += kCheck;
  Send(bytes);
  EXPECT_EQ(session_->pending(), 3U);
  store_.Answer(20);
  EXPECT_EQ(Count(Taken(), "HTTP/1.1 "), 20U);
}

TEST_F(HttpSessionTest, WhoTakesNoAnswersGetsNoMoreThanSoManyAndAllOfThemInTheEnd) {
  constexpr std::string_view kLarge = "GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string once = Send(kLarge);
  const std::size_t count = 3 * HttpSession::kMostOutput / once.size();
  std::string requests;
  for (std::size_t i = 0; i < count; ++i) requests += kLarge;
  std::string heard = Send(requests + "GET /li");
  EXPECT_LT(heard.size(), HttpSession::kMostOutput + once.size());
  EXPECT_FALSE(session_->in_request()) << "it is not for the client to go on";
  while (session_->held_back()) {
    session_->Resume();
    heard += Taken();
  }
  EXPECT_EQ(heard.size(), count * once.size());
  EXPECT_TRUE(session_->in_request());
  EXPECT_THAT(Send("vez HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(HttpSessionTest, WhoNeverWaitsIsCutOff) {
  Load(testing::kThreeAMinute);
  Start();
  store_.answers_later = true;
  std::string many;
  for (std::size_t i = 0; i < kUsualMaxPending; ++i) many += kCheck;
  while (many.size() <= HttpSession::kMaxBacklog) many += std::string(many);
  Send(many);
  Send(many);
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(host_.protocol_errors, 1U);
  store_.Answer(kUsualMaxPending);
  EXPECT_THAT(Taken(), HasSubstr("TOO_MANY_PENDING"));
}

TEST_F(HttpSessionTest, WhatIsNoRequestIsRefusedAndNothingMoreIsRead) {
  const std::string heard = Send("GET / HTTP/1.1\r\n\r\nGET /livez HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(heard, HasSubstr("Connection: close"));
  EXPECT_THAT(heard, HasSubstr("MALFORMED_REQUEST"));
  EXPECT_EQ(Count(heard, "HTTP/1.1 "), 1U);
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(host_.protocol_errors, 1U);
}

TEST_F(HttpSessionTest, WhatIsTooLargeIsSaidToBe) {
  options_.limits.max_body = 100;
  options_.limits.max_header_bytes = 200;
  options_.limits.max_request_line = 100;
  Start();
  EXPECT_EQ(Request("POST", "/api/v1/rate-limit/check", std::string(101, ' ')).status, 413);
  Start();
  EXPECT_THAT(Send("GET /livez HTTP/1.1\r\nHost: h\r\nX: " + std::string(300, 'x') + "\r\n\r\n"),
              HasSubstr("HEADERS_TOO_LARGE"));
  Start();
  EXPECT_THAT(Send("GET /" + std::string(300, 'x') + " HTTP/1.1\r\nHost: h\r\n\r\n"),
              HasSubstr("URI_TOO_LONG"));
}

TEST_F(HttpSessionTest, PathsAndMethodsThatAreNotThere) {
  EXPECT_EQ(testing::TextOf(Get("/api/v1/rate-limit/chec").body, "code"), "NOT_FOUND");
  EXPECT_EQ(Get("/api/v1/rate-limit/check/").status, 404);
  const testing::Heard wrong = Request("DELETE", "/api/v1/rate-limit/check?key=a");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.Header("Allow"), "GET, HEAD, POST, OPTIONS");
  EXPECT_EQ(testing::TextOf(wrong.body, "code"), "METHOD_NOT_ALLOWED");
  EXPECT_EQ(Request("BREW", "/livez").status, 405);
  EXPECT_FALSE(session_->closing());
}

TEST_F(HttpSessionTest, OptionsTellTheMethods) {
  const testing::Heard heard = Request("OPTIONS", "/admin/enforcement");
  EXPECT_EQ(heard.status, 204);
  EXPECT_EQ(heard.Header("Allow"), "GET, HEAD, PUT, OPTIONS");
  EXPECT_EQ(Request("OPTIONS", "*").status, 204);
  EXPECT_EQ(Request("OPTIONS", "/nothing").status, 404);
}

TEST_F(HttpSessionTest, HeadIsGetWithoutTheBody) {
  Load(testing::kThreeAMinute);
  const testing::Heard heard = Request("HEAD", "/api/v1/rate-limit/check?key=a");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.body, "");
  EXPECT_NE(heard.Header("Content-Length"), "0");
  EXPECT_EQ(heard.Header("X-RateLimit-Remaining"), "2");
}

TEST_F(HttpSessionTest, ABodyIsAskedForIfItsPathTakesOne) {
  const std::string head =
      "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n"
      "Expect: 100-continue\r\n\r\n";
  EXPECT_EQ(Send(head), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(session_->in_request());
  EXPECT_THAT(Send("{\"key\":\"a\"}"), StartsWith("HTTP/1.1 200 OK"));

  const std::string heard =
      Send("POST /livez HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(heard, HasSubstr("Connection: close"));
  EXPECT_TRUE(session_->closing()) << "nobody knows whether a body follows";
}

TEST_F(HttpSessionTest, ConnectionsLastAsLongAsTheClientWants) {
  EXPECT_THAT(Send("GET /livez HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close"));
  EXPECT_TRUE(session_->closing());
  Connect();
  EXPECT_THAT(Send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              HasSubstr("Connection: keep-alive"));
  EXPECT_FALSE(session_->closing());
  Send("GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + std::string(kCheck));
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(host_.answers, 0U) << "what follows a last request is not read";
}

TEST_F(HttpSessionTest, AServerThatEndsAnswersWhatHasBegun) {
  Load(testing::kThreeAMinute);
  Start();
  Send(kCheck.substr(0, 20));
  session_->Drain();
  EXPECT_FALSE(session_->closing());
  const std::string heard = Send(std::string(kCheck.substr(20)) + std::string(kCheck));
  EXPECT_THAT(heard, HasSubstr("Connection: close"));
  EXPECT_EQ(Count(heard, "HTTP/1.1 200"), 1U);
  EXPECT_TRUE(session_->closing());

  Connect();
  session_->Drain();
  EXPECT_TRUE(session_->closing()) << "nothing is under way";

  Connect();
  store_.answers_later = true;
  Send(kCheck);
  session_->Drain();
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(session_->pending(), 1U);
  store_.Answer(1);
  EXPECT_THAT(Taken(), StartsWith("HTTP/1.1 200"));
}

TEST_F(HttpSessionTest, MetricsAreAwaitedInTheirPlace) {
  Start();
  session_->Receive(
      "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\nGET /livez HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(Taken(), "") << "answers come in the order of the requests";
  EXPECT_EQ(session_->pending(), 1U);
  host_.FinishMetrics();
  EXPECT_EQ(session_->pending(), 0U);
  const std::string both = Taken();
  EXPECT_LT(both.find("rate_limiter_active_keys 7\n"), both.find("ok\n"));
  EXPECT_EQ(carrier_.told, 1U);
}

TEST_F(HttpSessionTest, MetricsMayComeWhenNobodyWaitsAnyMore) {
  Start();
  session_->Receive("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
  session_.reset();
  host_.FinishMetrics();
  EXPECT_EQ(carrier_.told, 0U);
}

}  // namespace
}  // namespace sluice::api
