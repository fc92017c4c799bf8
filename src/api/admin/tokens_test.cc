#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"
#include "base/timestamp.h"
#include "control/rule_service.h"
#include "control/testing/fake_control_store.h"
#include "identity/access_token.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using ::testing::Not;
using testing::TextOf;

class TokensTest : public testing::HttpTest {
 protected:
  void SetUp() override { services_.rule_service = &service_; }
  Heard Create(std::string_view body) {
    return Request("POST", "/admin/v1/tokens", body, "Content-Type: application/json\r\n");
  }
  std::string Stored(const std::string& id) {
    const auto record = services_.records.Find(control::RecordKind::kToken, id);
    return record ? record->text : std::string();
  }

  control::testing::FakeControlStore control_{services_.clock};
  control::RuleService service_{control_, {.node = "n1"}};
};

TEST_F(TokensTest, ATokenIsShownOnceAndStoredAsAHash) {
  const Heard created =
      Create(R"({"name":"ci","role":"editor","scope":"team-a/","expires_at":null})");
  ASSERT_EQ(created.status, 201) << created.body;
  const std::string text = TextOf(created.body, "token");
  const std::string id = TextOf(created.body, "id");
  EXPECT_EQ(identity::TokenIdOf(text), id);
  EXPECT_THAT(created.body, HasSubstr(R"("expires_at":null)"));
  const auto stored = identity::ParseRecordText(id, Stored(id));
  ASSERT_TRUE(stored);
  EXPECT_EQ(stored->role, identity::Role::kEditor);
  EXPECT_EQ(stored->scope, "team-a/");
  EXPECT_EQ(stored->author, "local");
  const std::string secret = text.substr(text.rfind(id) + id.size() + 1);
  const Heard listed = Get("/admin/v1/tokens");
  for (const std::string& place :
       {Stored(id), listed.body, services_.records.Audits().back().target}) {
    EXPECT_THAT(place, Not(HasSubstr(secret)));
  }
  EXPECT_THAT(listed.body, Not(HasSubstr("sha256")));
  EXPECT_EQ(TextOf(listed.body, "id"), id);
  EXPECT_EQ(TextOf(listed.body, "name"), "ci");
  EXPECT_THAT(listed.body, HasSubstr(R"("last_used_at":null)"));
  EXPECT_EQ(services_.records.Audits().back().action, "token.create");
}

TEST_F(TokensTest, ATokenExpiresInNinetyDaysUnlessItSaysOtherwise) {
  const Heard usual = Create(R"({"name":"a","role":"viewer"})");
  EXPECT_EQ(TextOf(usual.body, "expires_at"),
            FormatTimestamp(services_.now() + std::chrono::days(90)));
  const Heard soon = Create(R"({"name":"a","role":"viewer","expires_at":"2030-05-01T00:00:00Z"})");
  EXPECT_EQ(TextOf(soon.body, "expires_at"), "2030-05-01T00:00:00Z");
}

TEST_F(TokensTest, AnInvalidTokenIsNotCreated) {
  for (const char* const body :
       {"", "[]", "{}", R"({"role":"viewer"})", R"({"name":"a"})", R"({"name":"a","role":"root"})",
        R"({"name":"a","role":"none"})", R"({"name":"","role":"viewer"})",
        R"({"name":"a","role":"admin","scope":"team-a/"})",
        R"({"name":"a","role":"viewer","expires_at":"2001-01-01T00:00:00Z"})",
        R"({"name":"a","role":"viewer","expires_at":"soon"})",
        R"({"name":"a","role":"viewer","expires_at":7})",
        R"({"name":"a","role":"viewer","secret":"mine"})",
        R"({"name":"a","role":"viewer","role":"admin"})",
        R"({"name":"a\u0000b","role":"viewer"})"}) {
    const Heard heard = Create(body);
    EXPECT_EQ(heard.status, 400) << body << " " << heard.body;
  }
  EXPECT_TRUE(services_.records.List(control::RecordKind::kToken, "", 10, {}).empty());
}

TEST_F(TokensTest, ARevokedTokenIsGone) {
  const std::string id = TextOf(Create(R"({"name":"ci","role":"viewer"})").body, "id");
  EXPECT_EQ(Request("DELETE", "/admin/v1/tokens/" + id).status, 200);
  EXPECT_EQ(Stored(id), "");
  EXPECT_EQ(services_.records.Audits().back().action, "token.revoke");
  const Heard again = Request("DELETE", "/admin/v1/tokens/" + id);
  EXPECT_EQ(again.status, 404);
  EXPECT_EQ(TextOf(again.body, "code"), "TOKEN_NOT_FOUND");
}

TEST_F(TokensTest, OnlyAnAdminCreatesTokens) {
  services_.token = "a-bootstrap-token";
  for (const identity::Role role : {identity::Role::kViewer, identity::Role::kEditor}) {
    const std::string shown = "Authorization: Bearer " + services_.AddToken({.role = role}) +
                              "\r\nContent-Type: application/json\r\n";
    EXPECT_EQ(Request("POST", "/admin/v1/tokens", R"({"name":"a","role":"checker"})", shown).status,
              403);
    EXPECT_EQ(Get("/admin/v1/tokens", shown).status, 403);
  }
}

TEST_F(TokensTest, ACallerSeesItsOwnRole) {
  EXPECT_EQ(Get("/admin/v1/whoami").body,
            R"({"name":"local","role":"admin","scope":"","authentication":"local",)"
            R"("expires_at":null})");
  const std::string token =
      services_.AddToken({.name = "ci", .role = identity::Role::kEditor, .scope = "team-a/"});
  EXPECT_EQ(Get("/admin/v1/whoami", "Authorization: Bearer " + token + "\r\n").body,
            R"({"name":"ci","role":"editor","scope":"team-a/","authentication":"token",)"
            R"("expires_at":null})");
}

}  // namespace
}  // namespace sluice::api
