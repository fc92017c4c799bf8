#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/problem_response.h"
#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::Heard;
using testing::NumberOf;
using ::testing::StartsWith;
using testing::TextOf;

class QueryCheckTest : public testing::HttpTest {
 protected:
  void ExpectProblem(const Heard& heard, int status, std::string_view code,
                     std::string_view field = "") {
    EXPECT_EQ(heard.status, status) << heard.body;
    EXPECT_EQ(heard.Header("Content-Type"), kProblemType);
    EXPECT_EQ(TextOf(heard.body, "code"), code) << heard.body;
    EXPECT_EQ(TextOf(heard.body, "field"), field) << heard.body;
  }
};

TEST_F(QueryCheckTest, AnAlgorithmBringsItsDefaultLimit) {
  Heard heard;
  for (int i = 0; i < 5; ++i) heard = Check("key=user:123&algorithm=TOKEN_BUCKET");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.Header("Content-Type"), "application/json");
  EXPECT_THAT(heard.body,
              StartsWith(R"({"allowed":true,"key":"user:123","algorithm":"TOKEN_BUCKET",)"
                         R"("remaining":95,"resetAfterSeconds":1,"retryAfterSeconds":0,)"
                         R"("message":"Request allowed","limit":100,"retryAfterMs":0,)"
                         R"("delayMs":0,"rule":null,"degraded":false,"limits":[{)"));
  EXPECT_EQ(Check("key=user:123&algorithm=token_bucket&permits=95").status, 200);
  heard = Check("key=user:123&algorithm=TOKEN_BUCKET");
  EXPECT_EQ(heard.status, 429);
  EXPECT_THAT(heard.body, HasSubstr(R"("retryAfterSeconds":1,"message":"Rate limit exceeded")"));
  EXPECT_EQ(heard.Header("Retry-After"), "1");
  EXPECT_EQ(heard.Header("X-RateLimit-Reset-Ms"), "100");
}

TEST_F(QueryCheckTest, EachAlgorithmIsKnownByItsName) {
  for (const std::string name : {"TOKEN_BUCKET", "LEAKY_BUCKET", "FIXED_WINDOW", "SLIDING_WINDOW",
                                 "SLIDING_WINDOW_COUNTER"}) {
    const Heard heard = Check("key=k&algorithm=" + name);
    EXPECT_EQ(TextOf(heard.body, "algorithm"), name);
    EXPECT_EQ(NumberOf(heard.body, "limit"), 100);
    EXPECT_EQ(NumberOf(heard.body, "remaining"), 99);
  }
  ExpectProblem(Check("key=k&algorithm=CONCURRENCY"), 400, "INVALID_ALGORITHM", "algorithm");
  ExpectProblem(Check("key=k&algorithm=BUCKET"), 400, "INVALID_ALGORITHM", "algorithm");
}

TEST_F(QueryCheckTest, WithoutAnAlgorithmTheRulesDecide) {
  Load(R"(
rules:
  - { id: search, match: { endpoint: /search, method: GET }, algorithm: fixed_window, limit: 1, window: 60 }
  - { id: all, algorithm: fixed_window, limit: 10, window: 60 }
)");
  const Heard first = Check("key=a&endpoint=/search&method=GET");
  EXPECT_EQ(TextOf(first.body, "rule"), "search");
  EXPECT_EQ(first.Header("X-RateLimit-Limit"), "1");
  EXPECT_EQ(first.Header("X-RateLimit-Remaining"), "0");
  EXPECT_EQ(first.Header("X-RateLimit-Reset"), "1900000020");
  EXPECT_THAT(first.body, HasSubstr(R"({"rule":"all",)"));
  EXPECT_EQ(Check("key=a&endpoint=/search&method=GET").status, 429);
  EXPECT_EQ(Check("key=a").Header("X-RateLimit-Remaining"), "8") << "a denial took nothing";
}

TEST_F(QueryCheckTest, ThePeerIsTheAddressUnlessTheQueryNamesOne) {
  Load("rules: [{ id: login, per: [ip], algorithm: fixed_window, limit: 1, window: 60 }]");
  EXPECT_EQ(Check("user=x").status, 200);
  EXPECT_EQ(Check("user=x").status, 429);
  EXPECT_EQ(Check("user=x&ip=10.0.0.1").status, 200);
}

TEST_F(QueryCheckTest, ALookNeverTakes) {
  Load(testing::kThreeAMinute);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(NumberOf(Get("/api/v1/rate-limit/remaining?key=a").body, "remaining"), 3);
  }
  for (int i = 0; i < 3; ++i) Check("key=a");
  const Heard heard = Get("/api/v1/rate-limit/remaining?key=a");
  EXPECT_EQ(heard.status, 200);
  EXPECT_THAT(heard.body, StartsWith(R"({"allowed":false,)"));
}

TEST_F(QueryCheckTest, AResetForgetsAllLimitsThatTheAttributesMeet) {
  Load(testing::kThreeAMinute);
  for (int i = 0; i < 3; ++i) Check("key=a");
  EXPECT_EQ(Request("DELETE", "/api/v1/rate-limit/reset?key=a").status, 204);
  EXPECT_EQ(NumberOf(Check("key=a").body, "remaining"), 2);
  Check("key=b&algorithm=FIXED_WINDOW&permits=100");
  EXPECT_EQ(Request("DELETE", "/api/v1/rate-limit/reset?key=b&algorithm=FIXED_WINDOW").status, 204);
  EXPECT_EQ(NumberOf(Check("key=b&algorithm=FIXED_WINDOW").body, "remaining"), 99);
  store_.failure = ErrorCode::kStoreTimeout;
  ExpectProblem(Request("DELETE", "/api/v1/rate-limit/reset?key=a"), 503, "STORAGE_TIMEOUT");
}

TEST_F(QueryCheckTest, WrongKeysAreRefusedAndTakeNothing) {
  const std::string longest(256, 'k');
  EXPECT_EQ(Check("algorithm=TOKEN_BUCKET&key=" + longest).status, 200);
  for (const std::string& query :
       std::vector<std::string>{"", "algorithm=TOKEN_BUCKET", "key=", "key", "key=a%0Ab",
                                "key=a%7F", "key=" + longest + "k"}) {
    ExpectProblem(Check(query), 400, "INVALID_KEY", "key");
  }
  ExpectProblem(Check("api_key=a%0Ab"), 400, "INVALID_KEY", "api_key");
  EXPECT_EQ(services_.answers, 1U);
}

TEST_F(QueryCheckTest, WrongCostsAreRefusedAndTakeNothing) {
  for (const std::string cost : {"0", "-1", "1.5", "x", "", "9007199254740993", "+1", " 1"}) {
    ExpectProblem(
        Check("key=a&algorithm=TOKEN_BUCKET&permits=" + (cost == " 1"   ? std::string("%201")
                                                         : cost == "+1" ? "%2B1"
                                                                        : cost)),
        400, "INVALID_TOKEN_COST", "permits");
  }
  ExpectProblem(Check("key=a&cost=0"), 400, "INVALID_TOKEN_COST", "cost");
  ExpectProblem(Check("key=a&algorithm=TOKEN_BUCKET&permits=101"), 400, "COST_EXCEEDS_LIMIT",
                "permits");
  ExpectProblem(Check("key=a&algorithm=TOKEN_BUCKET&cost=101"), 400, "COST_EXCEEDS_LIMIT", "cost");
  EXPECT_THAT(TextOf(Check("key=a&permits=1.5").body, "detail"), EndsWith(", found '1.5'"));
  EXPECT_EQ(NumberOf(Check("key=a&algorithm=TOKEN_BUCKET").body, "remaining"), 99);
}

TEST_F(QueryCheckTest, WrongParametersAreNamed) {
  ExpectProblem(Check("key=a&key=b"), 400, "INVALID_PARAMETER", "key");
  ExpectProblem(Check("key=a&user=1&user=2"), 400, "INVALID_PARAMETER", "user");
  ExpectProblem(Check("key=a&user=%zz"), 400, "INVALID_PARAMETER", "user=%zz");
  ExpectProblem(Check("key=a&permits=1&cost=1"), 400, "INVALID_PARAMETER", "cost");
  ExpectProblem(Check("key=a&receipt=yes"), 400, "INVALID_PARAMETER", "receipt");
  std::string many = "key=a";
  for (int i = 0; i < 33; ++i) many += "&a" + std::to_string(i) + "=1";
  ExpectProblem(Check(many), 400, "TOO_MANY_ATTRIBUTES", "a32");
}

TEST_F(QueryCheckTest, ACostThatARuleForbidsIsNamed) {
  Load("rules: [{ id: api, limit: 10/h, max_cost: 5 }]");
  const Heard heard = Check("key=a&permits=6");
  ExpectProblem(heard, 400, "INVALID_TOKEN_COST", "permits");
  EXPECT_EQ(TextOf(heard.body, "detail"), "rule api: the cost of 6 is more than max_cost 5");
}

TEST_F(QueryCheckTest, AnAttributeThatIsNoCostIsNamedWithWhatItWas) {
  Load("rules: [{ id: llm, type: tokens, limit: 10/h }]");
  const Heard heard = Check("key=a&tokens=many");
  ExpectProblem(heard, 400, "INVALID_TOKEN_COST", "tokens");
  EXPECT_EQ(TextOf(heard.body, "detail"),
            "rule llm: tokens 'many' is no whole number of at least 1");
  ExpectProblem(Check("key=a&tokens=11"), 400, "COST_EXCEEDS_LIMIT", "tokens");
}

TEST_F(QueryCheckTest, ALookAtACostThatNeverFitsIsAnsweredAsALook) {
  Load(testing::kThreeAMinute);
  const Heard heard = Get("/api/v1/rate-limit/remaining?key=a&permits=4");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.Header("Content-Type"), "application/json");
  EXPECT_THAT(heard.body, StartsWith(R"({"allowed":false,)"));
  EXPECT_EQ(TextOf(heard.body, "code"), "COST_EXCEEDS_LIMIT");
  EXPECT_EQ(NumberOf(heard.body, "remaining"), 3);
  EXPECT_EQ(NumberOf(heard.body, "retryAfterMs"), -1);
  EXPECT_EQ(heard.Header("X-RateLimit-Remaining"), "3");
  EXPECT_EQ(heard.Header("Retry-After"), "");
}

TEST_F(QueryCheckTest, ListsAndCallsThatNoRuleMeets) {
  Load(R"(
rules: [{ id: api, match: { api_key: alice }, limit: 1/h }]
allow: ["friend"]
deny: ["foe"]
)");
  const Heard friendly = Check("key=friend");
  EXPECT_EQ(friendly.status, 200);
  EXPECT_EQ(friendly.Header("X-RateLimit-Limit"), "");
  const Heard foe = Check("key=foe");
  EXPECT_EQ(foe.status, 403);
  EXPECT_EQ(TextOf(foe.body, "code"), "DENY_LISTED");
  EXPECT_EQ(TextOf(foe.body, "message"), "The caller is on the deny list");
  const Heard unlisted = Check("key=unlisted");
  EXPECT_EQ(unlisted.status, 200);
  EXPECT_EQ(unlisted.Header("X-RateLimit-Limit"), "");
  Load("{ rules: [{ id: api, match: { api_key: alice }, limit: 1/h }], default: deny }");
  EXPECT_EQ(Check("key=unlisted").status, 403);
  EXPECT_EQ(TextOf(Check("key=unlisted").body, "code"), "NO_RULE");
}

TEST_F(QueryCheckTest, ARuleThatRejectsAllNamesNoTimeToWait) {
  Load("rules: [{ id: closed, match: { api_key: alice }, reject_all: true }]");
  const Heard heard = Check("key=alice");
  EXPECT_EQ(heard.status, 429);
  EXPECT_EQ(heard.Header("Retry-After"), "");
  EXPECT_EQ(NumberOf(heard.body, "retryAfterMs"), -1);
}

TEST_F(QueryCheckTest, AStoreThatFailsIsAnsweredForByTheRule) {
  Load("rules: [{ id: api, limit: 10/h }]");
  store_.failure = ErrorCode::kStoreUnavailable;
  const Heard open = Check("key=a");
  EXPECT_EQ(open.status, 200);
  EXPECT_EQ(open.Header("X-RateLimit-Remaining"), "-1");
  EXPECT_EQ(open.Header("X-RateLimit-Policy"), "degraded");
  EXPECT_EQ(open.Header("X-RateLimit-Degraded"), "true");
  EXPECT_THAT(open.body, HasSubstr("\"degraded\":true"));
  EXPECT_EQ(NumberOf(open.body, "remaining"), -1);
  Load("rules: [{ id: api, limit: 10/h, on_store_failure: closed }]");
  const Heard closed = Check("key=a");
  EXPECT_EQ(closed.status, 503);
  EXPECT_EQ(TextOf(closed.body, "message"),
            "Service temporarily unavailable (rate limiter backend error)");
  EXPECT_EQ(TextOf(closed.body, "code"), "STORAGE_UNAVAILABLE");
  EXPECT_EQ(closed.Header("Retry-After"), "1");
}

TEST_F(QueryCheckTest, AStoreThatFailsCantAnswerForALimitWithoutARule) {
  for (const auto& [error, code] : std::vector<std::pair<ErrorCode, std::string>>{
           {ErrorCode::kStoreUnavailable, "STORAGE_UNAVAILABLE"},
           {ErrorCode::kStoreTimeout, "STORAGE_TIMEOUT"},
           {ErrorCode::kStoreError, "SCRIPT_EXECUTION_FAILED"},
           {ErrorCode::kForeignValue, "SCRIPT_EXECUTION_FAILED"},
           {ErrorCode::kStoreFull, "EXCESSIVE_KEY_CARDINALITY"}}) {
    store_.failure = error;
    ExpectProblem(Check("key=a&algorithm=TOKEN_BUCKET"), 503, code);
  }
}

TEST_F(QueryCheckTest, AnyKeyIsRepeatedAsJson) {
  EXPECT_THAT(Check("key=%22%5C%C3%A4%FF&algorithm=TOKEN_BUCKET").body,
              HasSubstr("\"key\":\"\\\"\\\\ä\xEF\xBF\xBD\""));
}

TEST_F(QueryCheckTest, OneIsNotCountedInThePlural) {
  Load("rules: [{ id: ping, type: tokens, algorithm: fixed_window, limit: 1, window: 1 }]");
  Get("/api/ping");
  EXPECT_THAT(Get("/api/ping").body, HasSubstr("Rate limit of 1 token per 1 second exceeded"));
}

TEST_F(QueryCheckTest, LimitsThatRequestsBringAreSwitchedOffAndToShadow) {
  const std::string query = "key=a&algorithm=TOKEN_BUCKET&permits=100";
  EXPECT_EQ(Check(query).status, 200);
  EXPECT_EQ(Check(query).status, 429);
  services_.SetEnforcement(limiter::Enforcement::kShadow);
  const Heard shadow = Check(query);
  EXPECT_EQ(shadow.status, 200);
  EXPECT_EQ(shadow.Header("X-RateLimit-Limit"), "");
  EXPECT_THAT(shadow.body, AllOf(HasSubstr(R"("allowed":false)"), HasSubstr(R"("shadow":true)")));
  services_.SetEnforcement(limiter::Enforcement::kOff);
  const Heard off = Check(query);
  EXPECT_EQ(off.status, 200);
  EXPECT_THAT(off.body, HasSubstr(R"("limits":[])"));
  services_.SetEnforcement(limiter::Enforcement::kOn);
  EXPECT_EQ(Check(query).status, 429);
  store_.failure = ErrorCode::kStoreTimeout;
  EXPECT_EQ(Check(query).status, 503);
  services_.SetEnforcement(limiter::Enforcement::kShadow);
  EXPECT_EQ(Check(query).status, 200) << "a store that fails denies no caller, either";
  EXPECT_EQ(CheckBody(R"({"descriptors":[{"key":"k","limit":1}]})").status, 200);
}

TEST_F(QueryCheckTest, PingIsBehindTheLimiter) {
  options_.denial_id_in_body = false;
  Load("rules: [{ id: ping, algorithm: fixed_window, limit: 1, window: 60 }]");
  const std::string_view key = "X-API-Key: demo-key\r\n";
  const Heard heard = Get("/api/ping", key);
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.Header("X-RateLimit-Remaining"), "0");
  const Heard denied = Get("/api/ping", key);
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(denied.body,
            R"({"error":{"code":"RATE_LIMIT_EXCEEDED","message":"Rate limit of 1 request per 60 )"
            R"(seconds exceeded","details":{"limit":1,"window_seconds":60,)"
            R"("retry_after_seconds":20,"reset_at":"2030-03-17T17:47:00Z"}}})");
  const Heard problem = Get("/api/ping", std::string(key) + "Accept: application/problem+json\r\n");
  EXPECT_EQ(problem.Header("Content-Type"), kProblemType);
  EXPECT_THAT(problem.body, HasSubstr("#quota-exceeded"));
  EXPECT_THAT(problem.body, HasSubstr(R"("violated-policies":["ping:)"));
  EXPECT_EQ(Get("/api/ping", "X-API-Key: other\r\n").status, 200);
  ExpectProblem(Get("/api/ping", "X-API-Key: a\r\nX-API-Key: b\r\n"), 400, "INVALID_KEY");
}

}  // namespace
}  // namespace sluice::api
