#include <memory>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "api/testing/http_server.h"
#include "control/rule_service.h"
#include "control/testing/conformance.h"
#include "control/testing/fake_control_store.h"

namespace sluice::api {
namespace {

using control::testing::CommitText;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::string_view kSearchRules = "rules:\n  # searches\n  - {id: search, limit: 10/s}\n";
constexpr std::string_view kYamlHeader = "Content-Type: application/yaml\r\n";
constexpr std::string_view kJsonHeader = "Content-Type: application/json\r\n";

class RulesV1Test : public testing::HttpTest {
 protected:
  void SetUp() override { options_.limits.max_large_body = control::kMaxDocumentBytes; }

  void UseStore() { services_.rule_service = &service_; }

  static std::string IfMatch(std::string_view tag) {
    return "If-Match: " + std::string(tag) + "\r\n";
  }
  std::string Tag() { return Get("/admin/v1/rules").Header("ETag"); }

  // A member of a JSON body by its pointer, such as "/errors/0/line"; a default element if none.
  simdjson::dom::element At(const std::string& json, const char* pointer) {
    simdjson::dom::element document;
    EXPECT_EQ(parser_.parse(json).get(document), simdjson::SUCCESS) << json;
    simdjson::dom::element value;
    EXPECT_EQ(document.at_pointer(pointer).get(value), simdjson::SUCCESS) << pointer << json;
    return value;
  }
  std::string TextAt(const std::string& json, const char* pointer) {
    return std::string(std::string_view(At(json, pointer)));
  }

  control::testing::FakeControlStore control_{services_.clock};
  control::RuleService service_{control_, {.node = "n1"}};
  simdjson::dom::parser parser_;
};

TEST_F(RulesV1Test, RulesOfAFileCantBeChanged) {
  Load(testing::kThreeAMinute);
  for (const char* method : {"GET", "PUT"}) {
    const auto heard =
        Request(method, "/admin/v1/rules", *method == 'P' ? kSearchRules : "", kYamlHeader);
    EXPECT_EQ(heard.status, 409);
    EXPECT_EQ(testing::TextOf(heard.body, "code"), "READ_ONLY_SOURCE");
    EXPECT_THAT(testing::TextOf(heard.body, "detail"), HasSubstr("rules.yaml"));
  }
}

TEST_F(RulesV1Test, TheDocumentIsYamlOrJsonByAccept) {
  UseStore();
  EXPECT_EQ(testing::TextOf(Get("/admin/v1/rules").body, "code"), "NO_RULES");
  CommitText(control_, std::string(kSearchRules));
  const auto yaml = Get("/admin/v1/rules");
  EXPECT_EQ(yaml.status, 200);
  EXPECT_EQ(yaml.body, kSearchRules);
  EXPECT_EQ(yaml.Header("Content-Type"), "application/yaml");
  EXPECT_THAT(yaml.Header("ETag"), StartsWith("\"1.1-"));
  EXPECT_FALSE(yaml.Header("Last-Modified").empty());
  const auto json = Get("/admin/v1/rules", "Accept: text/html, application/json;q=0.9\r\n");
  EXPECT_EQ(json.Header("Content-Type"), "application/json");
  EXPECT_EQ(TextAt(json.body, "/rules/0/id"), "search");
  EXPECT_EQ(Get("/admin/v1/rules", "Accept: application/yaml, application/json\r\n").body,
            kSearchRules);
  EXPECT_EQ(Get("/admin/v1/rules", "If-None-Match: " + yaml.Header("ETag") + "\r\n").status, 304);
}

TEST_F(RulesV1Test, AChangeNeedsTheTagOfTheCurrentVersion) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  const std::string tag = Tag();
  const auto without = Request("PUT", "/admin/v1/rules", "rules: []", kYamlHeader);
  EXPECT_EQ(without.status, 428);
  EXPECT_EQ(testing::TextOf(without.body, "code"), "PRECONDITION_REQUIRED");
  const auto changed =
      Request("PUT", "/admin/v1/rules?message=looser", "rules:\n  - {id: search, limit: 20/s}\n",
              std::string(kYamlHeader) + IfMatch(tag));
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(TextAt(changed.body, "/version"), "1.2");
  EXPECT_THAT(changed.Header("ETag"), StartsWith("\"1.2-"));
  const auto late =
      Request("PUT", "/admin/v1/rules", "rules: []", std::string(kYamlHeader) + IfMatch(tag));
  EXPECT_EQ(late.status, 412);
  EXPECT_EQ(late.Header("ETag"), Tag());
  EXPECT_EQ(TextAt(late.body, "/current"), Tag());
  EXPECT_EQ(TextAt(late.body, "/difference/rows/0/rule"), "search");
  EXPECT_EQ(control_.GetContent().versions.size(), 2U);
}

TEST_F(RulesV1Test, ErrorsHaveTheirPlaces) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  const auto heard = Request("PUT", "/admin/v1/rules", "rules:\n  - {id: a, limitt: 10/s}\n",
                             std::string(kYamlHeader) + IfMatch(Tag()));
  EXPECT_EQ(heard.status, 422);
  EXPECT_EQ(TextAt(heard.body, "/code"), "RULES_INVALID");
  EXPECT_EQ(std::int64_t(At(heard.body, "/errors/0/line")), 2);
  EXPECT_THAT(heard.body, HasSubstr("limitt"));
  EXPECT_EQ(control_.GetContent().versions.size(), 1U);
}

TEST_F(RulesV1Test, OfManyErrorsTheFirstThousandAreReturned) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  std::string document = "rules:\n";
  for (int i = 0; i < 3000; ++i) document += "  - {id: a" + std::to_string(i) + ", oops: 1}\n";
  const auto heard =
      Request("PUT", "/admin/v1/rules", document, std::string(kYamlHeader) + IfMatch(Tag()));
  EXPECT_EQ(heard.status, 422);
  EXPECT_EQ(simdjson::dom::array(At(heard.body, "/errors")).size(), 1000U);
}

TEST_F(RulesV1Test, OneRuleIsChangedByItsDecodedId) {
  UseStore();
  CommitText(control_, "rules:\n  - {id: 'a b', limit: 10/s}\n");
  const auto heard = Request("PUT", "/admin/v1/rules/a%20b", R"({"limit":"5/s"})",
                             std::string(kJsonHeader) + IfMatch(Tag()));
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_THAT(Get("/admin/v1/rules").body, HasSubstr("5/s"));
  EXPECT_EQ(Request("DELETE", "/admin/v1/rules/other", "", IfMatch(Tag())).status, 404);
  EXPECT_EQ(Request("DELETE", "/admin/v1/rules/a%zz", "", IfMatch(Tag())).status, 400);
  EXPECT_EQ(Request("DELETE", "/admin/v1/rules/%ff", "", IfMatch(Tag())).status, 400);
  EXPECT_EQ(Request("PUT", "/admin/v1/rules/versions", "{}", kJsonHeader).status, 405);
}

TEST_F(RulesV1Test, ADryRunChangesNothing) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  const auto heard =
      Request("PUT", "/admin/v1/rules?dry_run=1", "rules:\n  - {id: search, limit: 5/s}\n",
              std::string(kYamlHeader) + IfMatch(Tag()));
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_EQ(TextAt(heard.body, "/difference/rows/0/effect"), "tightens");
  EXPECT_EQ(control_.GetContent().versions.size(), 1U);
}

TEST_F(RulesV1Test, VersionsAreListedComparedAndRestored) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  CommitText(control_, "rules:\n  - {id: search, limit: 5/s}\n");
  EXPECT_EQ(TextAt(Get("/admin/v1/rules/versions").body, "/versions/0/version"), "1.2");
  EXPECT_EQ(TextAt(Get("/admin/v1/rules/versions/1").body, "/text"), kSearchRules);
  EXPECT_EQ(TextAt(Get("/admin/v1/rules/versions/1.1...1.2").body, "/rows/0/effect"), "tightens");
  EXPECT_EQ(Get("/admin/v1/rules/versions/1.9").status, 404);
  EXPECT_EQ(Get("/admin/v1/rules/versions/x").status, 404);
  EXPECT_EQ(Get("/admin/v1/rules/versions/0").status, 404);
  const auto restored = Post("/admin/v1/rules/versions/1.1/restore?message=back", "");
  EXPECT_EQ(restored.status, 200) << restored.body;
  EXPECT_EQ(Get("/admin/v1/rules").body, kSearchRules);
  EXPECT_EQ(TextAt(Get("/admin/v1/rules/versions").body, "/versions/0/restores"), "1.1");
}

TEST_F(RulesV1Test, QueriesAndHeadersAreChecked) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  for (const char* query :
       {"dry_run=maybe", "wait=1h", "wait=x", "wait=-1s", "foo=1", "message=%z", "force=2"}) {
    const auto heard =
        Request("PUT", "/admin/v1/rules?" + std::string(query), kSearchRules, kYamlHeader);
    EXPECT_EQ(heard.status, 400) << query;
    EXPECT_EQ(testing::TextOf(heard.body, "code"), "INVALID_PARAMETER") << query;
  }
  for (const std::string& key : {std::string("a b"), std::string(), std::string(256, 'k')}) {
    const auto heard = Request("PUT", "/admin/v1/rules", kSearchRules,
                               std::string(kYamlHeader) + "Idempotency-Key: " + key + "\r\n");
    EXPECT_EQ(testing::TextOf(heard.body, "field"), "Idempotency-Key") << key;
  }
  EXPECT_EQ(Get("/admin/v1/audit?limit=1001").status, 400);
  EXPECT_EQ(Get("/admin/v1/audit?before=0").status, 400);
  EXPECT_EQ(Get("/admin/v1/traffic?keys=raw").status, 400);
}

TEST_F(RulesV1Test, OnlyYamlAndJsonAreDocuments) {
  UseStore();
  const auto put = [&](std::string_view type, std::string_view more = "") {
    return Request("PUT", "/admin/v1/rules", kSearchRules,
                   "Content-Type: " + std::string(type) + "\r\n" + std::string(more))
        .status;
  };
  for (const char* type : {"text/plain", "multipart/form-data", "application/xml", "text/html"}) {
    EXPECT_EQ(put(type), 415) << type;
  }
  EXPECT_EQ(put("application/yaml", "Sec-Fetch-Site: none\r\n"), 200) << "the store is empty";
  // Elsewhere, YAML is no JSON.
  EXPECT_EQ(Request("PUT", "/admin/enforcement", R"({"enforcement":"on"})", kYamlHeader).status,
            415);
}

TEST_F(RulesV1Test, BrowsersAndStrangersAreRefused) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  EXPECT_EQ(Get("/admin/v1/rules", "Origin: http://localhost\r\n").status, 403);
  EXPECT_EQ(Get("/admin/v1/rules", "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(Get("/admin/v1/rules", "X-Forwarded-For: 1.2.3.4\r\n").status, 403);
  services_.token = "a-token-of-enough-length";
  EXPECT_EQ(Get("/admin/v1/rules").status, 401);
  EXPECT_EQ(Get("/admin/v1/rules", "Authorization: Bearer a-token-of-enough-length\r\n").status,
            200);
}

TEST_F(RulesV1Test, TooManyRequestsAreRefusedAsBusy) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  services_.busy_tasks = TaskKind::kRead;
  const auto heard = Get("/admin/v1/rules");
  EXPECT_EQ(heard.status, 503);
  EXPECT_EQ(testing::TextOf(heard.body, "code"), "BUSY");
  EXPECT_EQ(heard.Header("Retry-After"), "1");
}

TEST_F(RulesV1Test, AChangeWhoseWaitFindsNoThreadIsStillCommitted) {
  UseStore();
  CommitText(control_, std::string(kSearchRules));
  const std::string headers = std::string(kYamlHeader) + IfMatch(Tag());
  services_.busy_tasks = TaskKind::kWait;
  const auto heard = Request("PUT", "/admin/v1/rules?wait=2s", "rules: []\n", headers);
  EXPECT_EQ(heard.status, 202) << heard.body;
  EXPECT_EQ(TextAt(heard.body, "/version"), "1.2");
}

TEST_F(RulesV1Test, AStoreThatCantBeReachedIs503) {
  UseStore();
  control_.SetFailure(Error{ErrorCode::kStoreUnavailable, "no connection to Redis"});
  for (const char* path : {"/admin/v1/rules", "/admin/v1/rules/versions", "/admin/v1/nodes",
                           "/admin/v1/audit", "/admin/v1/rules/versions/1"}) {
    const auto heard = Get(path);
    EXPECT_EQ(heard.status, 503) << path;
    EXPECT_EQ(testing::TextOf(heard.body, "code"), "CONTROL_STORE_UNAVAILABLE") << path;
    EXPECT_THAT(testing::TextOf(heard.body, "detail"), HasSubstr("no connection")) << path;
  }
  EXPECT_EQ(Request("PUT", "/admin/v1/rules", kSearchRules, std::string(kYamlHeader) + IfMatch("*"))
                .status,
            503);
}

TEST_F(RulesV1Test, AuditRecordsAreLinesOfJson) {
  UseStore();
  ASSERT_EQ(Request("PUT", "/admin/v1/rules?message=first", kSearchRules, kYamlHeader).status, 200);
  const auto heard = Get("/admin/v1/audit?limit=1");
  EXPECT_EQ(heard.Header("Content-Type"), "application/x-ndjson");
  ASSERT_TRUE(heard.body.ends_with('\n'));
  EXPECT_EQ(TextAt(heard.body, "/author"), "local");
  EXPECT_EQ(TextAt(heard.body, "/message"), "first");
  EXPECT_EQ(TextAt(heard.body, "/address"), "127.0.0.1");
}

TEST_F(RulesV1Test, SwitchesResetsAndGrantsAreAudited) {
  UseStore();
  Load(testing::kThreeAMinute);
  Request("PUT", "/admin/enforcement", R"({"enforcement":"shadow"})");
  Request("PUT", "/admin/enforcement", R"({"enforcement":"maybe"})");
  Request("PUT", "/admin/log-level", R"({"level":"debug"})");
  Request("DELETE", "/api/v1/rate-limit/reset?key=a-long-secret-key");
  Post("/admin/grant", R"({"key":"bob","amount":5})");
  Get("/admin/inspect?key=bob");
  Check("key=bob");
  services_.next_rules = kSearchRules;
  Post("/admin/rules/reload", "");
  EXPECT_THAT(services_.audits,
              ElementsAre("local enforcement.set shadow", "local log_level.set debug",
                          HasSubstr("local limits.reset api_key=sha256:"), HasSubstr("amount=5"),
                          "local rules.reload "));
}

TEST_F(RulesV1Test, AuditRecordsHaveTheDigestOfAnApiKey) {
  UseStore();
  Load(testing::kThreeAMinute);
  Request("DELETE", "/api/v1/rate-limit/reset?key=secret");
  ASSERT_EQ(services_.audits.size(), 1U);
  EXPECT_THAT(services_.audits[0], StartsWith("local limits.reset api_key=sha256:2bb80d537b1da3e38"
                                              "bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"));
  EXPECT_THAT(services_.audits[0], Not(HasSubstr("secret")));
}

TEST_F(RulesV1Test, ALargeDocumentIsForAdministratorsOnly) {
  UseStore();
  options_.limits.max_body = 1024;
  const std::string large = std::string(kSearchRules) + "# " + std::string(4096, 'x') + "\n";
  EXPECT_EQ(Request("PUT", "/admin/v1/rules", large, kYamlHeader).status, 200);
  const std::string head = "PUT /admin/v1/rules HTTP/1.1\r\nHost: localhost\r\n" +
                           std::string(kYamlHeader) + "Content-Length: ";
  // A stranger is refused before the body arrives, and so is a document that is too large.
  services_.token = "a-token-of-enough-length";
  Connect();
  EXPECT_EQ(Parse(Send(head + "4096\r\n\r\n")).status, 401);
  EXPECT_TRUE(session_->closing());
  services_.token.clear();
  Connect();
  EXPECT_EQ(Parse(Send(head + "4194305\r\n\r\n")).status, 413);
  // Other routes keep their limit.
  Connect();
  EXPECT_EQ(Parse(Send("POST /admin/grant HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                       "4096\r\n\r\n"))
                .status,
            413);
}

TEST_F(RulesV1Test, AChunkedDocumentOfAStrangerIsRefusedWithItsHead) {
  UseStore();
  services_.token = "a-token-of-enough-length";
  Start();
  const std::string head =
      "PUT /admin/v1/rules HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Parse(Send(head)).status, 401);
  EXPECT_TRUE(session_->closing());
}

}  // namespace
}  // namespace sluice::api
