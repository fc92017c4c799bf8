#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/routes.h"
#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using testing::NumberOf;
using ::testing::StartsWith;
using testing::TextOf;

class AdminTest : public testing::HttpTest {
 protected:
  static std::string MethodOf(const HttpRoute& route) {
    switch (route.method) {
      case wire::HttpMethod::kGet:
        return "GET";
      case wire::HttpMethod::kPost:
        return "POST";
      case wire::HttpMethod::kPut:
        return "PUT";
      default:
        return "DELETE";
    }
  }
};

TEST_F(AdminTest, WithATokenItMustBeShown) {
  services_.token = "s3cret";
  for (const HttpRoute& route : HttpRoutes()) {
    if (!route.is_administrative()) continue;
    services_.guard.reset();  // Wrong tokens are bounded.
    const Heard heard = Request(MethodOf(route), route.path);
    EXPECT_EQ(heard.status, 401) << route.path;
    EXPECT_THAT(heard.Header("WWW-Authenticate"), StartsWith("Bearer"));
    EXPECT_EQ(Request(MethodOf(route), route.path, "", "Authorization: Bearer wrong\r\n").status,
              401);
    const int status =
        Request(MethodOf(route), route.path, "", "Authorization: bearer s3cret\r\n").status;
    EXPECT_NE(status, 401) << route.path;
    EXPECT_NE(status, 403) << route.path;
  }
}

TEST_F(AdminTest, WithoutATokenOnlyLocalClientsMay) {
  EXPECT_EQ(Get("/admin/rules").status, 200);
  EXPECT_EQ(Get("/admin/rules", "Origin: http://evil.example\r\n").status, 403)
      << "a page in a local browser is not local";
  for (const char* const forwarded :
       {"X-Forwarded-For: 127.0.0.1", "x-forwarded-host: localhost", "X-Forwarded-Prefix: /sluice",
        "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1", "Via: 1.1 proxy"}) {
    for (const HttpRoute& route : HttpRoutes()) {
      if (!route.is_administrative()) continue;
      EXPECT_EQ(Request(MethodOf(route), route.path, "", std::string(forwarded) + "\r\n").status,
                403)
          << "a local proxy speaks for others: " << forwarded << " " << route.path;
    }
  }
  peer_ = {.address = "10.0.0.7", .is_local = false};
  Start();
  for (const HttpRoute& route : HttpRoutes()) {
    if (!route.is_administrative()) continue;
    const Heard heard = Request(MethodOf(route), route.path);
    EXPECT_EQ(heard.status, 403) << route.path;
    EXPECT_EQ(TextOf(heard.body, "code"), "FORBIDDEN");
  }
}

TEST_F(AdminTest, RulesAreShownReloadedAndRolledBack) {
  Load("rules: [{ id: one, limit: 1/h }]");
  services_.next_rules = "rules: [{ id: two, limit: 1/h }]";
  const Heard reloaded = Post("/admin/rules/reload", "");
  EXPECT_EQ(reloaded.body, R"({"outcome":"activated","version":2,"warnings":[]})");
  EXPECT_EQ(TextOf(Post("/admin/rules/reload", "").body, "outcome"), "unchanged");
  services_.next_rules = "rules: [{ id: three, limti: 1/h }]";
  const Heard refused = Post("/admin/rules/reload", "");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(TextOf(refused.body, "detail"), HasSubstr("limti"));
  const Heard shown = Get("/admin/rules");
  EXPECT_THAT(shown.body, StartsWith(R"({"active":{"version":2,"fingerprint":")"));
  EXPECT_THAT(shown.body, HasSubstr(R"("failing":true)"));
  EXPECT_EQ(Post("/admin/rules/rollback?version=1", "").body, R"({"version":3,"restores":1})");
  EXPECT_EQ(TextOf(Check("key=a").body, "rule"), "one");
  EXPECT_EQ(TextOf(Post("/admin/rules/rollback?version=9", "").body, "code"), "VERSION_NOT_FOUND");
  EXPECT_EQ(TextOf(Post("/admin/rules/rollback?version=0", "").body, "code"), "VERSION_NOT_FOUND");
  for (const std::string query : {"", "?version=x", "?version=1&version=2", "?versoin=1"}) {
    EXPECT_EQ(TextOf(Post("/admin/rules/rollback" + query, "").body, "code"), "INVALID_PARAMETER");
  }
}

TEST_F(AdminTest, OfManyErrorsTheFirstAreShown) {
  Load("rules: [{ id: one, limit: 1/h }]");
  services_.next_rules = "rules:\n";
  for (int i = 0; i < 5000; ++i) {
    services_.next_rules += "  - { id: r" + std::to_string(i) + ", limti: 1/h, limit: 1/h }\n";
  }
  const Heard refused = Post("/admin/rules/reload", "");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr(" more: the log has them all"));
  const Heard shown = Get("/admin/rules");
  EXPECT_THAT(shown.body, HasSubstr(" more: the log has them all"));
  EXPECT_LT(shown.body.size(), 300'000U);
}

TEST_F(AdminTest, WhileRulesAreReadNothingElseOfTheConnectionIsAnswered) {
  Load("rules: [{ id: one, limit: 1/h }]");
  Start();
  services_.next_rules = "rules: [{ id: two, limit: 1/h }]";
  session_->Receive(
      "POST /admin/rules/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
      "GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(Taken(), "");
  services_.FinishSlowWork();
  EXPECT_THAT(Taken(), HasSubstr(R"("rules":{"version":2)")) << "what follows sees the new rules";
}

TEST_F(AdminTest, EnforcementAndLogLevelAreSwitched) {
  EXPECT_EQ(Get("/admin/enforcement").body, R"({"enforcement":"on"})");
  EXPECT_EQ(Request("PUT", "/admin/enforcement", R"({"enforcement":"shadow"})").body,
            R"({"enforcement":"shadow"})");
  EXPECT_EQ(services_.enforcement(), limiter::Enforcement::kShadow);
  EXPECT_EQ(Request("PUT", "/admin/enforcement", R"({"enforcement":"maybe"})").status, 400);
  EXPECT_EQ(Request("PUT", "/admin/enforcement", R"({"on":true})").status, 400);
  EXPECT_EQ(Request("PUT", "/admin/log-level", R"({"level":"debug"})").body,
            R"({"level":"debug"})");
  EXPECT_EQ(Get("/admin/log-level").body, R"({"level":"debug"})");
  EXPECT_EQ(TextOf(Request("PUT", "/admin/log-level", R"({"level":"x"})").body, "field"), "level");
}

TEST_F(AdminTest, AGrantIsSpentFirst) {
  Load(testing::kThreeAMinute);
  EXPECT_EQ(Post("/admin/grant", R"({"attributes":{"api_key":"a"},"amount":10})").body,
            R"({"granted":10,"limits":1})");
  EXPECT_EQ(NumberOf(Check("key=a").body, "remaining"), 12);
  EXPECT_EQ(TextOf(Post("/admin/grant", R"({"key":"a"})").body, "field"), "amount");
  EXPECT_EQ(TextOf(Post("/admin/grant", R"({"key":"a","amount":0})").body, "code"),
            "INVALID_TOKEN_COST");
}

TEST_F(AdminTest, AGrantThatNoLimitTakesIsRefusedWithItsReason) {
  Load(R"(
rules:
  - { id: slots, match: { api_key: a }, algorithm: concurrency, limit: 3 }
  - { id: closed, match: { api_key: b }, reject_all: true }
allow: [friend]
)");
  const auto grant = [this](const std::string& key) {
    return Post("/admin/grant", R"({"key":")" + key + R"(","amount":5})");
  };
  EXPECT_EQ(grant("a").status, 400);
  EXPECT_EQ(TextOf(grant("a").body, "code"), "NOT_SUPPORTED");
  EXPECT_THAT(TextOf(grant("a").body, "detail"), StartsWith("rule slots limits concurrency"));
  EXPECT_THAT(TextOf(grant("b").body, "detail"), StartsWith("rule closed rejects every call"));
  EXPECT_EQ(grant("c").status, 404);
  EXPECT_EQ(TextOf(grant("c").body, "code"), "NO_LIMIT");
  EXPECT_THAT(TextOf(grant("friend").body, "detail"), HasSubstr("on a list"));
}

TEST_F(AdminTest, ARefusedClientGetsTheReason) {
  EXPECT_THAT(TextOf(Get("/admin/rules", "Origin: http://a.example\r\n").body, "detail"),
              HasSubstr("Origin"));
  EXPECT_THAT(TextOf(Get("/admin/rules", "X-Forwarded-For: 127.0.0.1\r\n").body, "detail"),
              HasSubstr("proxy"));
  services_.token = "s3cret";
  EXPECT_THAT(TextOf(Get("/admin/rules").body, "detail"), HasSubstr("needs the admin token: send"));
  EXPECT_THAT(TextOf(Get("/admin/rules", "Authorization: Bearer x\r\n").body, "detail"),
              HasSubstr("is not the admin token"));
}

TEST_F(AdminTest, AnInspectionTellsWhatLiesBehind) {
  Load(testing::kThreeAMinute);
  EXPECT_THAT(Get("/admin/inspect?key=a").body,
              HasSubstr(R"("live":false,"level":3,"grant":0,"touchedAtMs":null)"));
  Check("key=a");
  Post("/admin/grant", R"({"key":"a","amount":10})");
  const Heard heard = Get("/admin/inspect?key=a");
  EXPECT_THAT(heard.body, HasSubstr(R"("live":true,"level":2,"grant":10,)"));
  EXPECT_EQ(NumberOf(heard.body, "remaining"), 12);
}

TEST_F(AdminTest, LimitsCanBeInspected) {
  Load(testing::kThreeAMinute);
  Check("key=a");
  const Heard heard = Get("/admin/inspect?key=a");
  EXPECT_EQ(heard.status, 200);
  EXPECT_THAT(TextOf(heard.body, "key"), HasSubstr("{a}:api:"));
  EXPECT_EQ(NumberOf(heard.body, "remaining"), 2);
}

TEST_F(AdminTest, TheServerTellsOfItself) {
  services_.health.conditions = {{"store", true, ""}, {"rules", true, "version 1"}};
  EXPECT_EQ(Get("/livez").body, "ok\n");
  EXPECT_EQ(Get("/readyz").body, "ready\n");
  EXPECT_EQ(Get("/readyz?verbose").body, "[+] store ok\n[+] rules ok: version 1\nready\n");
  EXPECT_THAT(Get("/version").body,
              StartsWith(R"({"name":"sluice","version":"1.2.3","rules":{"version":0,)"));
  EXPECT_EQ(Get("/metrics").body, "rate_limiter_active_keys 7\n");
  EXPECT_THAT(Get("/metrics").Header("Content-Type"), StartsWith("text/plain; version=0.0.4"));
  EXPECT_EQ(Get("/actuator/prometheus").body, "rate_limiter_active_keys 7\n");
  EXPECT_THAT(Get("/actuator/health").body, StartsWith(R"({"status":"UP","components":{"store":)"));
  EXPECT_THAT(Get("/actuator/info").body, HasSubstr(R"("version":"1.2.3")"));
  services_.health.ready = false;
  services_.health.conditions[0] = {"store", false, "gone"};
  EXPECT_EQ(Get("/readyz").status, 503);
  EXPECT_EQ(Get("/actuator/health").status, 503);
  EXPECT_EQ(Get("/livez").status, 200);
}

TEST_F(AdminTest, TheIndexHasTheVersionAndThePathsToStartFrom) {
  services_.token = "a-long-enough-token";  // It is for all callers.
  const Heard heard = Get("/?x=<script>");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.Header("Content-Type"), "application/json");
  EXPECT_EQ(heard.body,
            R"({"name":"sluice","version":"1.2.3","links":{"check":"/api/v1/rate-limit/check",)"
            R"("live":"/livez","ready":"/readyz","version":"/version","metrics":"/metrics",)"
            R"("health":"/actuator/health","openapi":"/openapi.json"},)"
            R"("documentation":"docs/README.md"})");
  EXPECT_EQ(Request("HEAD", "/", "").body, "");
  const Heard refused = Request("POST", "/", "");
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.Header("Allow"), "GET, HEAD, OPTIONS");
}

}  // namespace
}  // namespace sluice::api
