#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using testing::NumberOf;
using ::testing::StartsWith;
using testing::TextOf;

class BodyCheckTest : public testing::HttpTest {
 protected:
  void ExpectProblem(std::string_view body, std::string_view code, std::string_view field = "",
                     int status = 400) {
    const Heard heard = CheckBody(body);
    EXPECT_EQ(heard.status, status) << body << "\n" << heard.body;
    EXPECT_EQ(TextOf(heard.body, "code"), code) << body << "\n" << heard.body;
    EXPECT_EQ(TextOf(heard.body, "field"), field) << body << "\n" << heard.body;
  }
};

TEST_F(BodyCheckTest, AttributesGoByTheRules) {
  Load(
      "rules: [{ id: model, per: [user, model], algorithm: fixed_window, limit: 10, window: 60 }]");
  const Heard heard =
      CheckBody(R"({"attributes":{"user":"u","model":"gpt","beta":true},"cost":3})");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(TextOf(heard.body, "rule"), "model");
  EXPECT_EQ(NumberOf(heard.body, "remaining"), 7);
  EXPECT_NE(TextOf(heard.body, "receipt"), "");
  EXPECT_EQ(
      TextOf(CheckBody(R"({"attributes":{"user":"u","model":1},"receipt":false})").body, "receipt"),
      "");
}

TEST_F(BodyCheckTest, ALimitMayComeWithTheRequest) {
  const std::string body =
      R"({"key":"k","limit":{"algorithm":"token_bucket","capacity":2,"refill_rate":0.5}})";
  EXPECT_EQ(NumberOf(CheckBody(body).body, "remaining"), 1);
  EXPECT_EQ(CheckBody(body).status, 200);
  const Heard denied = CheckBody(body);
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(denied.Header("Retry-After"), "2");
  for (const std::string limit : {R"({"algorithm":"leaky_bucket","capacity":5,"leak_rate":2})",
                                  R"({"algorithm":"FIXED_WINDOW","limit":5,"window":60})",
                                  R"({"algorithm":"sliding_window","limit":5,"window":1.5})",
                                  R"({"algorithm":"sliding_window_counter","limit":5,"window":60})",
                                  R"({"algorithm":"concurrency","limit":5,"time_to_live":10})"}) {
    const Heard heard = CheckBody(R"({"key":"other","limit":)" + limit + "}");
    EXPECT_EQ(heard.status, 200) << limit << heard.body;
    EXPECT_EQ(NumberOf(heard.body, "remaining"), 4) << limit;
  }
}

std::string BodyWithLimit(const std::string& algorithm, std::int64_t limit) {
  const std::string time = algorithm == "concurrency" ? "time_to_live" : "window";
  return R"({"key":"k","limit":{"algorithm":")" + algorithm + R"(","limit":)" +
         std::to_string(limit) + R"(,")" + time + R"(":60}})";
}

TEST_F(BodyCheckTest, ARequestBringsOnlySmallLogsAndFewSlots) {
  for (const std::string algorithm : {"sliding_window", "concurrency"}) {
    EXPECT_EQ(CheckBody(BodyWithLimit(algorithm, 1000)).status, 200) << algorithm;
    ExpectProblem(BodyWithLimit(algorithm, 1001), "INVALID_LIMIT", "limit");
  }
  // What keeps one or two numbers for a key keeps its range.
  for (const std::string algorithm : {"fixed_window", "sliding_window_counter"}) {
    EXPECT_EQ(CheckBody(BodyWithLimit(algorithm, 1'000'000'000)).status, 200) << algorithm;
  }
}

TEST_F(BodyCheckTest, HowLargeLimitsInRequestsMayBeIsASetting) {
  options_.request_limits.max_log_entries = 5;
  options_.request_limits.max_slots = 2000;
  ExpectProblem(BodyWithLimit("sliding_window", 6), "INVALID_LIMIT", "limit");
  EXPECT_EQ(CheckBody(BodyWithLimit("concurrency", 2000)).status, 200);
  ExpectProblem(BodyWithLimit("concurrency", 2001), "INVALID_LIMIT", "limit");
}

TEST_F(BodyCheckTest, LimitsInRequestsCanBeSwitchedOff) {
  options_.limits_in_requests = false;
  ExpectProblem(R"({"key":"k","limit":{"algorithm":"fixed_window","limit":1,"window":1}})",
                "LIMITS_IN_REQUESTS_OFF", "limit", 403);
  ExpectProblem(R"({"descriptors":[{"key":"k","limit":1}]})", "LIMITS_IN_REQUESTS_OFF",
                "descriptors", 403);
  EXPECT_EQ(CheckBody(R"({"key":"k"})").status, 200);
}

TEST_F(BodyCheckTest, DescriptorsPassTogetherOrNotAtAll) {
  const auto body = [](int tokens) {
    return R"({"descriptors":[{"key":"api-key-123","value":"model-gpt4","limit":2,)"
           R"("type":"requests","window":60,"cost":1},{"key":"api-key-123","value":"model-gpt4",)"
           R"("limit":100,"type":"tokens","cost":)" +
           std::to_string(tokens) + "}]}";
  };
  const Heard first = CheckBody(body(90));
  EXPECT_EQ(first.status, 200);
  EXPECT_THAT(
      first.body,
      StartsWith(R"({"allowed":true,"message":"Request allowed","retryAfterMs":0,)"
                 R"("degraded":false,"results":[{"key":"api-key-123",)"
                 R"("value":"model-gpt4","type":"requests","limit":2,"allowed":true,)"
                 R"("current":1,"remaining":1,"resetAt":1900000060,"error":null,"message":null},)"
                 R"({"key":"api-key-123","value":"model-gpt4","type":"tokens",)"
                 R"("limit":100,"allowed":true,"current":90,"remaining":10,)"));
  const Heard second = CheckBody(body(20));
  EXPECT_EQ(second.status, 429);
  EXPECT_EQ(second.Header("Retry-After"), "60");
  EXPECT_THAT(second.body, HasSubstr(R"("allowed":true,"current":1,"remaining":1,)"));
  EXPECT_THAT(second.body, HasSubstr(R"("allowed":false,"current":90,"remaining":10,)"
                                     R"("resetAt":1900000060,"error":"RATE_LIMIT_EXCEEDED")"));
  const Heard third = CheckBody(body(101));
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(third.Header("Retry-After"), "");
  EXPECT_THAT(third.body, HasSubstr("COST_EXCEEDS_LIMIT"));
  EXPECT_EQ(CheckBody(body(10)).status, 200) << "denials took nothing";
}

TEST_F(BodyCheckTest, ADescriptorWhoseCostNeverFitsSaysSo) {
  const Heard heard = CheckBody(
      R"({"descriptors":[{"key":"k","limit":5},{"key":"k","type":"tokens","limit":9,"cost":10}]})");
  EXPECT_EQ(heard.status, 429);
  EXPECT_THAT(heard.body, StartsWith(R"({"allowed":false,"message":"a cost of 10 never fits into )"
                                     R"(a limit of 9","code":"COST_EXCEEDS_LIMIT",)"));
  EXPECT_THAT(heard.body, HasSubstr(R"("error":"COST_EXCEEDS_LIMIT","message":"a cost of 10 )"
                                    R"(never fits into a limit of 9"})"));
  EXPECT_THAT(heard.body, HasSubstr(R"("error":null,"message":null})"));
}

TEST_F(BodyCheckTest, DescriptorsPassWhileLimitsAreSwitchedOff) {
  const std::string body = R"({"descriptors":[{"key":"k","limit":1}]})";
  EXPECT_EQ(CheckBody(body).status, 200);
  const Heard denied = CheckBody(body);
  EXPECT_EQ(denied.status, 429);
  EXPECT_EQ(TextOf(denied.body, "code"), "RATE_LIMIT_EXCEEDED");
  services_.SetEnforcement(limiter::Enforcement::kShadow);
  const Heard shadow = CheckBody(body);
  EXPECT_EQ(shadow.status, 200);
  EXPECT_THAT(shadow.body, HasSubstr("\"error\":\"RATE_LIMIT_EXCEEDED\""))
      << "judged, all the same";
  services_.SetEnforcement(limiter::Enforcement::kOff);
  const Heard off = CheckBody(body);
  EXPECT_EQ(off.status, 200);
  EXPECT_EQ(NumberOf(off.body, "remaining"), 1);
  EXPECT_THAT(off.body, HasSubstr("\"current\":0,"));
}

TEST_F(BodyCheckTest, ChecksAreIndependentOfEachOther) {
  Load(testing::kThreeAMinute);
  std::string body = R"({"checks":[)";
  for (int i = 0; i < 4; ++i) body += R"({"key":"a"},)";
  body += R"({"attributes":{"api_key":"b"},"cost":2},{"attributes":{"api_key":"b"},"cost":4}]})";
  const Heard heard = CheckBody(body);
  EXPECT_EQ(heard.status, 200);
  std::vector<std::string> results;
  for (std::size_t at = heard.body.find("{\"allowed\":"); at != std::string::npos;
       at = heard.body.find("{\"allowed\":", at + 1)) {
    results.push_back(heard.body.substr(at + 11, 5));
  }
  EXPECT_THAT(results,
              ::testing::ElementsAre("true,", "true,", "true,", "false", "true,", "false"));
  EXPECT_THAT(heard.body, HasSubstr("COST_EXCEEDS_LIMIT"));
  EXPECT_EQ(services_.answers, 6U);
}

TEST_F(BodyCheckTest, AThousandChecksAreAnsweredAlsoByAStoreThatAnswersLater) {
  Load(testing::kThreeAMinute);
  Start();
  std::string body = R"({"checks":[)";
  for (int i = 0; i < 1000; ++i) {
    body += (i == 0 ? "" : ",") + (R"({"key":"k)" + std::to_string(i)) + R"(","receipt":false})";
  }
  const std::string one_more = body + R"(,{"key":"x"}]})";
  body += "]}";
  store_.answers_later = true;
  EXPECT_EQ(Send("POST /api/v1/rate-limit/check HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n" + body),
            "");
  EXPECT_EQ(session_->pending(), 1U);
  store_.Answer(600, /*last_first=*/true);
  EXPECT_EQ(Taken(), "");
  store_.Answer(400);
  const Heard heard = Parse(Taken());
  EXPECT_EQ(heard.status, 200);
  for (int i = 1; i < 1000; ++i) {
    EXPECT_LT(heard.body.find("\"k" + std::to_string(i - 1) + "\""),
              heard.body.find("\"k" + std::to_string(i) + "\""));
  }
  ExpectProblem(one_more, "TOO_MANY_CHECKS", "checks");
}

TEST_F(BodyCheckTest, WrongBodiesAreNamed) {
  ExpectProblem("", "INVALID_BODY");
  ExpectProblem("{", "INVALID_BODY");
  ExpectProblem("[]", "INVALID_BODY");
  ExpectProblem("{} {}", "INVALID_BODY");
  ExpectProblem("{}", "MISSING_FIELD", "key");
  ExpectProblem(R"({"attributes":{}})", "MISSING_FIELD", "attributes");
  ExpectProblem(R"({"attributes":[]})", "INVALID_FIELD", "attributes");
  ExpectProblem(R"({"attributes":{"a":null}})", "INVALID_FIELD", "attributes.a");
  ExpectProblem(R"({"attributes":{"a":1.5}})", "INVALID_FIELD", "attributes.a");
  ExpectProblem(R"({"attributes":{"a":"1","a":"2"}})", "DUPLICATE_FIELD", "attributes.a");
  ExpectProblem(R"({"attributes":{"a":"1"},"key":"k"})", "INVALID_FIELD", "attributes");
  ExpectProblem(R"({"attributes":{"a":"1"},"costs":2})", "UNKNOWN_FIELD", "costs");
  ExpectProblem(R"({"attributes":{"api_key":""}})", "INVALID_KEY", "attributes.api_key");
  ExpectProblem(R"({"key":"k","key":"k"})", "DUPLICATE_FIELD", "key");
  ExpectProblem(R"({"key":"a\nb"})", "INVALID_KEY", "key");
  ExpectProblem(R"({"key":7})", "INVALID_FIELD", "key");
  for (const std::string cost : {"0", "-1", "1.5", "\"1\"", "null", "1e400", "9007199254740994"}) {
    const Heard heard = CheckBody(R"({"key":"k","cost":)" + cost + "}");
    EXPECT_EQ(heard.status, 400) << cost;
  }
  ExpectProblem(R"({"key":"k","cost":1.5})", "INVALID_TOKEN_COST", "cost");
  EXPECT_THAT(CheckBody(R"({"key":"k","cost":"1"})").body, HasSubstr(R"(, found \"1\")"));
  EXPECT_EQ(services_.answers, 0U);
  EXPECT_EQ(CheckBody(R"({"key":"k","cost":2.0})").status, 200);
}

TEST_F(BodyCheckTest, WrongLimitsAreNamed) {
  const auto limit = [](const std::string& fields) {
    return R"({"key":"k","limit":{)" + fields + "}}";
  };
  ExpectProblem(limit(""), "MISSING_FIELD", "limit.algorithm");
  ExpectProblem(limit(R"("algorithm":"x")"), "INVALID_ALGORITHM", "limit.algorithm");
  ExpectProblem(limit(R"("algorithm":"token_bucket","capacity":1)"), "MISSING_FIELD",
                "limit.refill_rate");
  ExpectProblem(limit(R"("algorithm":"token_bucket","capacity":0,"refill_rate":1)"),
                "INVALID_LIMIT", "limit.capacity");
  ExpectProblem(limit(R"("algorithm":"token_bucket","capacity":1,"refill_rate":0)"),
                "INVALID_LIMIT", "limit.refill_rate");
  ExpectProblem(limit(R"("algorithm":"token_bucket","capacity":1,"window":1)"), "UNKNOWN_FIELD",
                "limit.window");
  ExpectProblem(limit(R"("algorithm":"fixed_window","limit":1,"window":0)"), "INVALID_FIELD",
                "limit.window");
  ExpectProblem(limit(R"("algorithm":"sliding_window","limit":9000000,"window":1)"),
                "INVALID_LIMIT", "limit");
  ExpectProblem(R"({"key":"k","limit":5})", "INVALID_FIELD", "limit");
}

TEST_F(BodyCheckTest, WrongDescriptorsAndChecksAreNamedByTheirPlace) {
  ExpectProblem(R"({"descriptors":[]})", "MISSING_FIELD", "descriptors");
  ExpectProblem(R"({"descriptors":[{"key":"k","limit":1},{"key":"k"}]})", "MISSING_FIELD",
                "descriptors[1].limit");
  ExpectProblem(R"({"descriptors":[{"key":"k","limit":1,"windows":1}]})", "UNKNOWN_FIELD",
                "descriptors[0].windows");
  ExpectProblem(R"({"descriptors":[{"key":"k","limit":1,"cost":0}]})", "INVALID_TOKEN_COST",
                "descriptors[0].cost");
  ExpectProblem(R"({"descriptors":[7]})", "INVALID_FIELD", "descriptors[0]");
  ExpectProblem(R"({"descriptors":[{"key":"k","limit":1}],"key":"k"})", "UNKNOWN_FIELD", "key");
  std::string many = R"({"descriptors":[)";
  for (int i = 0; i < 129; ++i)
    many += (i == 0 ? "" : ",") + std::string(R"({"key":"k","limit":9})");
  ExpectProblem(many + "]}", "TOO_MANY_DESCRIPTORS", "descriptors");
  ExpectProblem(R"({"checks":[{"key":"k"},{"key":""}]})", "INVALID_KEY", "checks[1].key");
  ExpectProblem(R"({"checks":[{"checks":[]}]})", "UNKNOWN_FIELD", "checks[0].checks");
  EXPECT_EQ(services_.answers, 0U) << "one error, and none is asked";
}

TEST_F(BodyCheckTest, TwoDescriptorsOfOneKeyCantContradictEachOther) {
  ExpectProblem(R"({"descriptors":[{"key":"k","limit":1},{"key":"k","limit":2}]})",
                "INVALID_LIMIT");
}

}  // namespace
}  // namespace sluice::api
