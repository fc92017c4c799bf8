#include "api/http/session.h"

#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"
#include "api/testing/share_transport.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using namespace std::chrono_literals;

constexpr std::string_view kCheckPath =
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
  /// Each receipt has an id of its own.
  static std::string WithoutReceipts(std::string text) {
    constexpr std::string_view kBegin = "\"receipt\":\"";
    for (std::size_t at = text.find(kBegin); at != std::string::npos;
         at = text.find(kBegin, at + kBegin.size())) {
      const std::size_t begin = at + kBegin.size();
      text.erase(begin, text.find('"', begin) - begin);
    }
    return text;
  }
};

TEST_F(HttpSessionTest, WhatIsAnsweredDoesNotDependOnWhereTheBytesWereSplit) {
  Load(testing::kThreeAMinute);
  const std::string bytes =
      std::string(kCheckPath) +
      "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: 29\r\n\r\n"
      "{\"attributes\":{\"user\":\"bob\"}}"
      "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\n{\"key\r\n8\r\n\":\"carl\"\r\n1\r\n}\r\n0\r\n\r\n"
      "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n";
  std::string expected;
  for (std::size_t split = 0; split <= bytes.size(); ++split) {
    store_.failure.reset();
    session_.reset();
    Start();
    std::string heard = Send(std::string_view(bytes).substr(0, split));
    heard += Send(std::string_view(bytes).substr(split));
    Request("DELETE", "/api/v1/rate-limit/reset?key=alice");
    Request("DELETE", "/api/v1/rate-limit/reset?key=carl");
    Request("DELETE", "/api/v1/rate-limit/reset?user=bob");
    heard = WithoutReceipts(heard);
    if (split == 0) expected = heard;
    ASSERT_EQ(heard, expected) << "split at " << split;
  }
  EXPECT_EQ(Count(expected, "HTTP/1.1 200 OK"), 3U) << expected;
  EXPECT_EQ(Count(expected, "HTTP/1.1 404 Not Found"), 1U);
}

TEST_F(HttpSessionTest, ACallerMayShortenTheTimeoutOfItsChecksDownToTenMilliseconds) {
  Load(testing::kThreeAMinute);
  const auto timeout_with = [&](std::string_view value) {
    Get("/api/v1/rate-limit/check?key=a", "X-Request-Timeout-Ms: " + std::string(value) + "\r\n");
    return store_.last_timeout;
  };
  EXPECT_EQ(timeout_with("20"), 20ms);
  EXPECT_EQ(timeout_with("10"), 10ms);
  EXPECT_EQ(timeout_with("1"), 10ms);
  EXPECT_EQ(timeout_with("0"), 0ms);
  EXPECT_EQ(timeout_with("soon"), 0ms);
}

TEST_F(HttpSessionTest, EndClientsBehindAProxyCanNotChooseTheTimeout) {
  Load(testing::kThreeAMinute);
  constexpr std::string_view kHeaders =
      "X-Request-Timeout-Ms: 20\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Uri: /x\r\n"
      "X-Original-Method: GET\r\nX-Original-URL: http://h/x\r\n";
  for (const std::string_view path : {"/v1/auth", "/v1/auth/nginx", "/v1/auth/ingress-nginx",
                                      "/v1/auth/envoy/api/v1/rate-limit/check", "/api/ping"}) {
    store_.last_timeout = 1ms;
    Get(path, kHeaders);
    EXPECT_EQ(store_.last_timeout, 0ms) << path;
  }
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
  EXPECT_GT(transport_.notified, 0U);
  EXPECT_EQ(session_->pending(), 0U);
  EXPECT_EQ(services_.answers, 3U);
}

TEST_F(HttpSessionTest, ASessionMayEndWhileAStoreStillWorks) {
  Load(testing::kThreeAMinute);
  Start();
  store_.answers_later = true;
  Send(kCheckPath);
  session_.reset();
  store_.Answer(1);
  EXPECT_EQ(services_.answers, 1U) << "what was decided is counted all the same";
  Connect();
  store_.answers_later = false;
  EXPECT_THAT(Send(kCheckPath), HasSubstr("\"remaining\":1"));
}

TEST_F(HttpSessionTest, PastTheMostThatMayWaitRequestsAreKeptAndAnsweredLater) {
  Load("rules: [{ id: api, algorithm: fixed_window, limit: 100000, window: 60 }]");
  Start();
  store_.answers_later = true;
  std::string bytes;
  for (std::size_t i = 0; i < transport::kDefaultMaxPending + 10; ++i) bytes += kCheckPath;
  Send(bytes);
  EXPECT_EQ(session_->pending(), transport::kDefaultMaxPending);
  EXPECT_FALSE(session_->in_request()) << "it is the store that is slow, not the client";
  store_.Answer(transport::kDefaultMaxPending);
  store_.Answer(10);
  EXPECT_EQ(Count(Taken(), "HTTP/1.1 200 OK"), transport::kDefaultMaxPending + 10);
}

TEST_F(HttpSessionTest, HowManyMayWaitCanBeConfigured) {
  options_.max_pending = 3;
  Load(testing::kThreeAMinute);
  Start();
  store_.answers_later = true;
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += kCheckPath;
  Send(bytes);
  EXPECT_EQ(session_->pending(), 3U);
  store_.Answer(20);
  EXPECT_EQ(Count(Taken(), "HTTP/1.1 "), 20U);
}

TEST_F(HttpSessionTest, WhoTakesNoAnswersGetsNoMoreThanSoManyAndAllOfThemInTheEnd) {
  constexpr std::string_view kLarge = "GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n";
  const std::string once = Send(kLarge);
  const std::size_t count = 3 * HttpSession::kMaxOutput / once.size();
  std::string requests;
  for (std::size_t i = 0; i < count; ++i) requests += kLarge;
  std::string heard = Send(requests + "GET /li");
  EXPECT_LT(heard.size(), HttpSession::kMaxOutput + once.size());
  EXPECT_FALSE(session_->in_request()) << "it is not for the client to go on";
  while (session_->held_back()) {
    session_->Resume();
    heard += Taken();
  }
  EXPECT_EQ(heard.size(), count * once.size());
  EXPECT_TRUE(session_->in_request());
  EXPECT_THAT(Send("vez HTTP/1.1\r\nHost: h\r\n\r\n"), StartsWith("HTTP/1.1 200 OK"));
}

TEST_F(HttpSessionTest, APipelineIsTheSameHoweverItIsDividedIntoTurns) {
  const std::string bytes =
      "GET /api/v1/rate-limit/check?key=a HTTP/1.1\r\nHost: h\r\n\r\n"
      "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n"
      "{\"key\":\"a\"}"
      "GET /livez HTTP/1.1\r\nHost: h\r\n\r\n"
      "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\n{\"key\r\n6\r\n\":\"b\"}\r\n0\r\n\r\n"
      "GET /api/v1/rate-limit/check?key=a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  // Each in a world of its own, since checks change it.
  const auto answers = [&](std::uint32_t share, std::size_t cut) {
    testing::DelayedStore store;
    testing::FakeServices services(store);
    EXPECT_EQ(
        LoadRules(services.live, "rules.yaml", testing::kThreeAMinute, services.now()).outcome,
        LoadOutcome::kActivated);
    HttpLoop loop(services, {});
    testing::ShareTransport transport(share);
    HttpSession session(loop, transport, peer_);
    session.Receive(bytes.substr(0, cut));
    if (cut % 2 == 0) transport.RunTurns(session);
    session.Receive(bytes.substr(cut));
    transport.RunTurns(session);
    EXPECT_TRUE(session.closing());
    return WithoutReceipts(session.output());
  };
  const std::string whole = answers(0, bytes.size());
  for (const std::uint32_t share : {1U, 2U, 3U}) {
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      ASSERT_EQ(answers(share, cut), whole) << share << " a turn, split at " << cut;
    }
  }
}

TEST_F(HttpSessionTest, ASessionAsksNoMoreThanItsShareOfTheStoresQueue) {
  store::StoreQueue queue(std::chrono::milliseconds(25));
  services_.queue = &queue;
  for (int i = 0; i < 15; ++i) queue.AddConnection();  // Others with calls under way.
  Load(testing::kThreeAMinute);
  store_.answers_later = true;
  std::string bytes;
  for (int i = 0; i < 20; ++i) {
    bytes += "GET /api/v1/rate-limit/check?key=a HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  EXPECT_EQ(Send(bytes), "");
  EXPECT_EQ(store_.waiting(), store::StoreQueue::kFirstLimit / 16);
  EXPECT_EQ(session_->pause(), transport::PauseReason::kStore);
  EXPECT_FALSE(session_->in_request()) << "it waits for us";
  std::size_t answered = 0;
  for (; store_.waiting() > 0; ++answered) store_.Answer(1);
  EXPECT_EQ(answered, 20U);
  EXPECT_EQ(session_->pause(), transport::PauseReason::kNone);
}

TEST_F(HttpSessionTest, WhatASessionHoldsIsCounted) {
  EXPECT_EQ(
      Send("POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n" +
           std::string(90'000, ' ')),
      "");
  EXPECT_GE(session_->held_bytes(), 90'000U);
}

TEST_F(HttpSessionTest, WhoNeverWaitsIsCutOff) {
  Load(testing::kThreeAMinute);
  Start();
  store_.answers_later = true;
  std::string many;
  for (std::size_t i = 0; i < transport::kDefaultMaxPending; ++i) many += kCheckPath;
  while (many.size() <= HttpSession::kMaxBacklog) many += std::string(many);
  Send(many);
  Send(many);
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(services_.call_counters.protocol_errors[Protocol::kHttp], 1U);
  store_.Answer(transport::kDefaultMaxPending);
  EXPECT_THAT(Taken(), HasSubstr("TOO_MANY_PENDING"));
}

TEST_F(HttpSessionTest, WhatIsNoRequestIsRefusedAndNothingMoreIsRead) {
  const std::string heard = Send("GET / HTTP/1.1\r\n\r\nGET /livez HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(heard, HasSubstr("Connection: close"));
  EXPECT_THAT(heard, HasSubstr("MALFORMED_REQUEST"));
  EXPECT_EQ(Count(heard, "HTTP/1.1 "), 1U);
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(services_.call_counters.protocol_errors[Protocol::kHttp], 1U);
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
  EXPECT_TRUE(session_->closing()) << "it is unknown whether a body follows";
}

TEST_F(HttpSessionTest, ConnectionsLastAsLongAsTheClientWants) {
  EXPECT_THAT(Send("GET /livez HTTP/1.0\r\n\r\n"), HasSubstr("Connection: close"));
  EXPECT_TRUE(session_->closing());
  Connect();
  EXPECT_THAT(Send("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
              HasSubstr("Connection: keep-alive"));
  EXPECT_FALSE(session_->closing());
  Send("GET /livez HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n" + std::string(kCheckPath));
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(services_.answers, 0U) << "what follows a last request is not read";
}

TEST_F(HttpSessionTest, AServerThatEndsAnswersWhatHasBegun) {
  Load(testing::kThreeAMinute);
  Start();
  Send(kCheckPath.substr(0, 20));
  session_->Drain();
  EXPECT_FALSE(session_->closing());
  const std::string heard = Send(std::string(kCheckPath.substr(20)) + std::string(kCheckPath));
  EXPECT_THAT(heard, HasSubstr("Connection: close"));
  EXPECT_EQ(Count(heard, "HTTP/1.1 200"), 1U);
  EXPECT_TRUE(session_->closing());

  Connect();
  session_->Drain();
  EXPECT_TRUE(session_->closing()) << "nothing is under way";

  Connect();
  store_.answers_later = true;
  Send(kCheckPath);
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
  services_.FinishSlowWork();
  EXPECT_EQ(session_->pending(), 0U);
  const std::string both = Taken();
  EXPECT_LT(both.find("rate_limiter_active_keys 7\n"), both.find("ok\n"));
  EXPECT_EQ(transport_.notified, 1U);
}

TEST_F(HttpSessionTest, AConnectionAwaitsOneMetricsPageAtATime) {
  Start();
  std::string flood;
  for (int i = 0; i < 100; ++i) flood += "GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n";
  session_->Receive(flood);
  EXPECT_EQ(services_.slow_work.size(), 1U);
  EXPECT_EQ(session_->pending(), 1U);
  EXPECT_TRUE(session_->held_back()) << "nothing more should be read";
  EXPECT_FALSE(session_->in_request()) << "it is not the client that is slow";
  services_.FinishSlowWork();
  EXPECT_EQ(session_->pending(), 0U);
  EXPECT_FALSE(session_->held_back());
  const std::string answers = Taken();
  std::size_t pages = 0;
  for (auto at = answers.find("keys 7\n"); at != std::string::npos;
       at = answers.find("keys 7\n", at + 1)) {
    ++pages;
  }
  EXPECT_EQ(pages, 100U);
}

TEST_F(HttpSessionTest, AfterAMetricsPageTheNextRequestIsRead) {
  Start();
  session_->Receive("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(session_->held_back());
  services_.FinishSlowWork();
  EXPECT_FALSE(session_->held_back());
  EXPECT_THAT(Taken(), HasSubstr("keys 7\n"));
  EXPECT_THAT(Send("GET /livez HTTP/1.1\r\nHost: h\r\n\r\n"), HasSubstr("ok\n"));
}

TEST_F(HttpSessionTest, AReservedConnectionIsForOneRequestOfOperators) {
  peer_.is_reserved = true;
  for (const std::string_view path : {"/livez", "/readyz", "/metrics", "/version"}) {
    Start();
    const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const testing::Heard heard = Parse(Send(request + request));
    EXPECT_EQ(heard.status, 200) << path;
    EXPECT_EQ(heard.Header("Connection"), "close");
    EXPECT_TRUE(session_->closing());
    EXPECT_TRUE(session_->served_operator());
  }
  Start();
  const testing::Heard refused = Parse(Send(kCheckPath));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.Header("Retry-After"), "1");
  EXPECT_TRUE(session_->closing());
  EXPECT_FALSE(session_->served_operator());
  EXPECT_EQ(services_.answers, 0U) << "nothing was taken from any budget";
}

TEST_F(HttpSessionTest, MetricsMayArriveAfterTheSessionIsGone) {
  Start();
  session_->Receive("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n");
  session_.reset();
  services_.FinishSlowWork();
  EXPECT_EQ(transport_.notified, 0U);
}

std::string CheckOf(std::string_view key) {
  return "GET /api/v1/rate-limit/check?key=" + std::string(key) + " HTTP/1.1\r\nHost: h\r\n\r\n";
}

TEST_F(HttpSessionTest, ChecksOfRequestsThatArriveTogetherAreDecidedInBatchesOfSixteen) {
  Load(testing::kThreeAMinute);
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += CheckOf("user" + std::to_string(i));
  const std::string heard = Send(bytes);
  EXPECT_THAT(store_.batches, ::testing::ElementsAre(16, 4));
  std::size_t at = 0;
  for (int i = 0; i < 20; ++i) {
    at = heard.find("\"key\":\"user" + std::to_string(i) + "\"", at);
    ASSERT_NE(at, std::string::npos) << i << ": " << heard;
  }
}

TEST_F(HttpSessionTest, ChecksOfOneBodyAreDecidedTogetherWithThoseAroundIt) {
  Load(testing::kThreeAMinute);
  std::string body = R"({"checks":[)";
  for (int i = 0; i < 17; ++i) body += R"({"key":"many)" + std::to_string(i) + "\"},";
  body.back() = ']';
  body += '}';
  const std::string heard = Send(
      CheckOf("before") + "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body + CheckOf("after"));
  EXPECT_THAT(store_.batches, ::testing::ElementsAre(16, 3));
  EXPECT_EQ(Count(heard, "HTTP/1.1 200 OK"), 3U);
  EXPECT_EQ(Count(heard, "\"allowed\":true,\"key\":"), 19U) << heard;
  EXPECT_LT(heard.find("\"before\""), heard.find("\"many0\""));
  EXPECT_LT(heard.find("\"many16\""), heard.find("\"after\""));
}

TEST_F(HttpSessionTest, ABodyOfManyChecksMayWaitForItsStoreAmongOthers) {
  Load(testing::kThreeAMinute);
  store_.answers_later = true;
  std::string body = R"({"checks":[)";
  for (int i = 0; i < 40; ++i) body += R"({"key":"many)" + std::to_string(i) + "\"},";
  body.back() = ']';
  body += '}';
  EXPECT_EQ(Send(CheckOf("before") +
                 "POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n" + body + CheckOf("after")),
            "");
  EXPECT_EQ(session_->pending(), 3U);
  EXPECT_EQ(store_.waiting(), 42U);
  store_.Answer(41, true);
  EXPECT_EQ(Taken(), "") << "the first is not answered yet";
  store_.Answer(1);
  const std::string heard = Taken();
  EXPECT_EQ(session_->pending(), 0U);
  EXPECT_EQ(Count(heard, "HTTP/1.1 200 OK"), 3U);
  EXPECT_LT(heard.find("\"before\""), heard.find("\"many0\""));
  EXPECT_LT(heard.find("\"many39\""), heard.find("\"after\""));
}

TEST_F(HttpSessionTest, ARequestWithoutChecksSeesThoseBeforeItDecided) {
  Load(R"(
rules:
  - { id: api, algorithm: fixed_window, limit: 1, window: 60 }
)");
  const std::string off = R"({"enforcement":"off"})";
  const std::string heard = Send(
      CheckOf("alice") + CheckOf("alice") +
      "PUT /admin/enforcement HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Content-Length: " +
      std::to_string(off.size()) + "\r\n\r\n" + off + CheckOf("alice"));
  EXPECT_THAT(store_.batches, ::testing::ElementsAre(2));
  EXPECT_EQ(Count(heard, "HTTP/1.1 200 OK"), 3U) << heard;
  EXPECT_EQ(Count(heard, "HTTP/1.1 429 "), 1U) << heard;
  EXPECT_LT(heard.find("429"), heard.find(off));
}

TEST_F(HttpSessionTest, ARefusalAmongChecksKeepsItsPlace) {
  Load(testing::kThreeAMinute);
  const std::string heard = Send(CheckOf("a") + CheckOf("") + CheckOf("b") +
                                 "GET /nothing HTTP/1.1\r\nHost: h\r\n\r\n" + CheckOf("c"));
  const std::size_t a = heard.find("\"key\":\"a\""), refused = heard.find(" 400 ");
  const std::size_t b = heard.find("\"key\":\"b\""), missing = heard.find(" 404 ");
  const std::size_t c = heard.find("\"key\":\"c\"");
  EXPECT_LT(a, refused);
  EXPECT_LT(refused, b);
  EXPECT_LT(b, missing);
  EXPECT_LT(missing, c);
  EXPECT_NE(c, std::string::npos) << heard;
}

}  // namespace
}  // namespace sluice::api
