#include <chrono>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/routes.h"
#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using enum identity::Role;
using ::testing::HasSubstr;
using testing::Heard;
using testing::TextOf;

constexpr auto kRoles = {kNone, kChecker, kViewer, kOperator, kEditor, kAdmin};

std::string MethodOf(const HttpRoute& route) {
  switch (route.method) {
    case wire::HttpMethod::kGet:
    case kAnyMethod:
      return "GET";
    case wire::HttpMethod::kPost:
      return "POST";
    case wire::HttpMethod::kPut:
      return "PUT";
    default:
      return "DELETE";
  }
}

// The least role for every route. A route that is not here fails the test: its author decides
// here, apart from its row in the table, who may use it.
const std::map<std::string_view, Role>& Expected() {
  static const std::map<std::string_view, Role> expected = {
      {"GET /", kNone},
      {"GET /actuator/health", kNone},
      {"GET /actuator/info", kNone},
      {"GET /actuator/prometheus", kNone},
      {"GET /admin/enforcement", kViewer},
      {"PUT /admin/enforcement", kEditor},
      {"GET /admin/v1/enforcement", kViewer},
      {"PUT /admin/v1/enforcement", kEditor},
      {"DELETE /admin/v1/enforcement", kEditor},
      {"GET /admin/v1/entries", kViewer},
      {"POST /admin/v1/entries:batch", kOperator},
      {"GET /admin/v1/entries/{id}", kViewer},
      {"PUT /admin/v1/entries/{id}", kOperator},
      {"DELETE /admin/v1/entries/{id}", kOperator},
      {"POST /admin/grant", kOperator},
      {"GET /admin/inspect", kViewer},
      {"POST /admin/v1/grants", kOperator},
      {"GET /admin/v1/keys", kViewer},
      {"POST /admin/v1/keys:lookup", kViewer},
      {"GET /admin/v1/resets", kViewer},
      {"POST /admin/v1/resets", kOperator},
      {"GET /admin/v1/resets/{id}", kViewer},
      {"DELETE /admin/v1/resets/{id}", kOperator},
      {"GET /admin/v1/store", kViewer},
      {"GET /admin/log-level", kViewer},
      {"PUT /admin/log-level", kOperator},
      {"GET /admin/rules", kViewer},
      {"POST /admin/rules/reload", kEditor},
      {"POST /admin/rules/rollback", kEditor},
      {"GET /admin/v1/audit", kViewer},
      {"GET /admin/v1/nodes", kViewer},
      {"GET /admin/v1/rules", kViewer},
      {"PUT /admin/v1/rules", kEditor},
      {"GET /admin/v1/rules/versions", kViewer},
      {"GET /admin/v1/rules/versions/{from}...{to}", kViewer},
      {"GET /admin/v1/rules/versions/{version}", kViewer},
      {"POST /admin/v1/rules/versions/{version}/restore", kEditor},
      {"DELETE /admin/v1/rules/{id}", kEditor},
      {"PUT /admin/v1/rules/{id}", kEditor},
      {"DELETE /admin/v1/tiers/{name}", kEditor},
      {"PUT /admin/v1/tiers/{name}", kEditor},
      {"GET /admin/v1/tokens", kAdmin},
      {"POST /admin/v1/tokens", kAdmin},
      {"DELETE /admin/v1/tokens/{id}", kAdmin},
      {"GET /admin/v1/traffic", kOperator},
      {"GET /admin/v1/whoami", kViewer},
      {"GET /admin/v1/top", kViewer},
      {"GET /admin/v1/denials", kViewer},
      {"GET /admin/v1/denials/{id}", kViewer},
      {"GET /admin/v1/series", kViewer},
      {"GET /api/ping", kChecker},
      {"POST /api/v1/rate-limit/acquire", kChecker},
      {"POST /api/v1/rate-limit/cancel", kChecker},
      {"GET /api/v1/rate-limit/check", kChecker},
      {"POST /api/v1/rate-limit/check", kChecker},
      {"POST /api/v1/rate-limit/release", kChecker},
      {"GET /api/v1/rate-limit/remaining", kChecker},
      {"POST /api/v1/rate-limit/renew", kChecker},
      {"DELETE /api/v1/rate-limit/reset", kOperator},
      {"POST /api/v1/rate-limit/settle", kChecker},
      {"POST /api/v1/rate-limit/extend", kChecker},
      {"GET /dashboard", kNone},
      {"GET /dashboard/", kNone},
      {"GET /dashboard/assets/{bundle}/{file}", kNone},
      {"GET /dashboard/session", kNone},
      {"POST /dashboard/session", kNone},
      {"DELETE /dashboard/session", kNone},
      {"GET /healthcheck", kNone},
      {"POST /json", kChecker},
      {"GET /livez", kNone},
      {"GET /metrics", kNone},
      {"GET /openapi.json", kNone},
      {"GET /readyz", kNone},
      {"GET /v1/auth", kChecker},
      {"GET /v1/auth/envoy", kChecker},
      {"GET /v1/auth/ingress-nginx", kChecker},
      {"GET /v1/auth/nginx", kChecker},
      {"GET /v1/usage", kChecker},
      {"GET /version", kNone},
  };
  return expected;
}

class RolesTest : public testing::HttpTest {
 protected:
  void SetUp() override {
    services_.token = "a-bootstrap-token";
    for (const Role role : kRoles) {
      if (role != kNone) tokens_[role] = services_.AddToken({.role = role});
    }
  }
  Heard Ask(const HttpRoute& route, const std::string& token, const std::string& headers = "") {
    // Wrong tokens are bounded, and responses may close the connection.
    services_.steady_now += std::chrono::hours(1);
    if (loop_ == nullptr) Start();
    Connect();
    const std::string shown = token.empty() ? "" : "X-Sluice-Token: " + token + "\r\n";
    return Request(MethodOf(route), route.path, "", shown + headers);
  }
  static std::string NameOf(const HttpRoute& route) {
    return MethodOf(route) + " " + std::string(route.path);
  }
  static bool IsRefusal(const Heard& heard) {
    const std::string code = TextOf(heard.body, "code");
    return code == "UNAUTHORIZED" || code == "FORBIDDEN" || code == "TOO_MANY_ATTEMPTS";
  }

  std::map<Role, std::string> tokens_;
};

TEST_F(RolesTest, EveryRouteIsAnsweredFromItsRoleOnAndRefusedBelow) {
  services_.access.checks_need_token = true;
  std::set<std::string_view> tested;
  for (const HttpRoute& route : HttpRoutes()) {
    const auto expected = Expected().find(NameOf(route));
    ASSERT_NE(expected, Expected().end()) << NameOf(route) << " has no expected role";
    tested.insert(expected->first);
    const Role least = expected->second;
    for (const Role role : kRoles) {
      const Heard heard = Ask(route, tokens_[role]);
      if (role >= least) {
        EXPECT_FALSE(IsRefusal(heard)) << NameOf(route) << " as " << LabelOf(role) << ": "
                                       << heard.status << " " << heard.body;
      } else {
        EXPECT_EQ(heard.status, role == kNone ? 401 : 403)
            << NameOf(route) << " as " << LabelOf(role) << ": " << heard.body;
      }
    }
  }
  EXPECT_EQ(tested.size(), Expected().size()) << "an expectation is for no route";
}

TEST_F(RolesTest, ChecksNeedATokenOnlyIfTheServerRequiresOne) {
  for (const HttpRoute& route : HttpRoutes()) {
    if (route.role <= kChecker) {
      EXPECT_FALSE(IsRefusal(Ask(route, ""))) << NameOf(route);
    }
  }
}

TEST_F(RolesTest, ARevokedOrExpiredTokenIsRefusedEverywhere) {
  services_.access.checks_need_token = true;
  const std::string expired =
      services_.AddToken({.role = kAdmin, .expires_at = services_.now() - std::chrono::seconds(1)});
  const std::string revoked = services_.AddToken({.role = kAdmin});
  services_.tokens.pop_back();
  services_.LoadTokens();
  for (const HttpRoute& route : HttpRoutes()) {
    if (route.role == kNone) continue;
    EXPECT_EQ(Ask(route, expired).status, 401) << NameOf(route);
    EXPECT_EQ(Ask(route, revoked).status, 401) << NameOf(route);
  }
}

TEST_F(RolesTest, ATokenWithAScopeChangesNothingButRulesInIt) {
  const std::string editor = services_.AddToken({.role = kEditor, .scope = "team-a/"});
  for (const HttpRoute& route : HttpRoutes()) {
    if (route.role < kOperator || route.role > kEditor || route.checks_scope) continue;
    const Heard heard = Ask(route, editor);
    const bool reads = route.method == wire::HttpMethod::kGet;
    EXPECT_EQ(IsRefusal(heard), !reads) << NameOf(route) << " " << heard.body;
    if (!reads) {
      EXPECT_THAT(heard.body, HasSubstr("team-a/")) << NameOf(route);
    }
  }
  const auto put = [&](const std::string& path) {
    return Request("PUT", path, "limit: 1/h\n",
                   "Content-Type: application/yaml\r\nAuthorization: Bearer " + editor + "\r\n");
  };
  EXPECT_EQ(put("/admin/v1/rules/team-a%2Fsearch").status, 409) << "past the check: a file's rules";
  EXPECT_EQ(put("/admin/v1/rules/team-b%2Fsearch").status, 403);
  EXPECT_EQ(put("/admin/v1/rules/team-").status, 403);
  EXPECT_EQ(put("/admin/v1/rules/TEAM-A%2Fsearch").status, 403);
}

TEST_F(RolesTest, WithATokenThePagesOfOtherSitesGetNoPermissionToReadOrSend) {
  for (const HttpRoute& route : HttpRoutes()) {
    for (const std::string& method : {std::string("OPTIONS"), MethodOf(route)}) {
      services_.steady_now += std::chrono::hours(1);
      if (loop_ == nullptr) Start();
      Connect();
      const Heard heard = Request(method, route.path, "",
                                  "Origin: https://evil.example\r\nAccess-Control-Request-Headers: "
                                  "authorization\r\nAccess-Control-Request-Method: POST\r\n");
      EXPECT_EQ(heard.head.find("Access-Control-"), std::string::npos) << heard.head;
      EXPECT_EQ(heard.head.find("Set-Cookie"), std::string::npos) << heard.head;
    }
    if (!route.is_administrative()) continue;
    // A browser adds cookies and remembered passwords by itself: neither is a token.
    for (const char* const ambient : {"Cookie: token=a-bootstrap-token\r\n",
                                      "Authorization: Basic YTphLWJvb3RzdHJhcC10b2tlbg==\r\n"}) {
      EXPECT_EQ(Ask(route, "", ambient).status, 401) << NameOf(route);
    }
  }
}

TEST_F(RolesTest, WithoutATokenNoPageReachesARouteForAdministrators) {
  services_.token.clear();
  services_.tokens.clear();
  services_.LoadTokens();
  for (const HttpRoute& route : HttpRoutes()) {
    if (!route.is_administrative()) continue;
    for (const char* const sign :
         {"Origin: http://localhost:8080\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
          "Sec-Fetch-Site: same-site\r\n", "X-Forwarded-For: 127.0.0.1\r\n"}) {
      EXPECT_EQ(Ask(route, "", sign).status, 403) << NameOf(route) << " " << sign;
    }
    Connect();
    std::string rebound = MethodOf(route) + " " + std::string(route.path);
    rebound += " HTTP/1.1\r\nHost: rebound.evil.example\r\n\r\n";
    EXPECT_EQ(Parse(Send(rebound)).status, 403) << NameOf(route);
  }
}

TEST_F(RolesTest, ACertificateGivesARoleButNotToThePagesOfItsBrowser) {
  services_.token.clear();
  services_.access.AddCertificate("CN=alice,O=Example", kEditor);
  peer_ = {.address = "192.0.2.9",
           .ip = ParseAddress("192.0.2.9"),
           .asked_for_certificate = true,
           .tls_subject = "CN=alice,O=Example",
           .tls_cn = "alice"};
  EXPECT_EQ(Get("/admin/rules").status, 200);
  EXPECT_EQ(Request("PUT", "/admin/log-level", R"({"level":"debug"})").status, 200);
  EXPECT_EQ(Get("/admin/rules", "Origin: https://evil.example\r\n").status, 403);
  EXPECT_EQ(Get("/admin/rules", "Sec-Fetch-Site: cross-site\r\n").status, 403);
  peer_.tls_subject = "CN=mallory,O=Example";
  Connect();
  EXPECT_EQ(Get("/admin/rules").status, 401);
  peer_ = {.address = "127.0.0.1", .is_local = true, .ip = ParseAddress("127.0.0.1")};
  Connect();
  EXPECT_EQ(Get("/admin/rules").status, 401) << "local clients need a credential, too";
}

TEST_F(RolesTest, BeforeForwardAuthTheAuthorizationHeaderIsTheEndClients) {
  services_.access.checks_need_token = true;
  const auto auth = [&](const std::string& headers) {
    return Get("/v1/auth", "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /\r\n" + headers);
  };
  const std::string bearer = "Authorization: Bearer " + tokens_[kChecker] + "\r\n";
  EXPECT_EQ(Get("/api/v1/rate-limit/check?key=a", bearer).status, 200);
  const Heard refused = auth(bearer);
  EXPECT_EQ(refused.status, 401) << "an end client's header is not the proxy's token";
  EXPECT_THAT(TextOf(refused.body, "detail"), HasSubstr("X-Sluice-Token"));
  const std::string shown = "X-Sluice-Token: " + tokens_[kChecker] + "\r\n";
  EXPECT_EQ(auth(shown + "Authorization: Bearer of-the-end-client\r\n").status, 200);
  EXPECT_EQ(auth(shown + "X-Sluice-Token: of-the-end-client\r\n").status, 401);
  EXPECT_EQ(auth(shown + shown).status, 401) << "even twice the same is ambiguous";
}

TEST_F(RolesTest, EveryChangeIsLoggedWithItsAuthorAndNoReadIs) {
  const std::string editor = services_.AddToken({.name = "ci", .role = kEditor});
  for (const HttpRoute& route : HttpRoutes()) {
    if (!route.is_administrative() || route.role > kEditor) continue;
    services_.changes.clear();
    Ask(route, editor);
    if (route.method == wire::HttpMethod::kGet || route.role < kOperator) {
      EXPECT_TRUE(services_.changes.empty()) << NameOf(route);
    } else {
      EXPECT_EQ(services_.changes, std::vector<std::string>{"ci " + NameOf(route)});
    }
    services_.changes.clear();
    Ask(route, tokens_[kChecker]);
    EXPECT_TRUE(services_.changes.empty()) << "a refused one changes nothing";
  }
}

TEST_F(RolesTest, GuessesOverAllRoutesShareOneBound) {
  peer_ = {.address = "192.0.2.7", .ip = ParseAddress("192.0.2.7")};
  const std::string id(identity::TokenIdOf(tokens_[kAdmin]));
  const std::string guess =
      "Authorization: Bearer sluice_" + id + "_" + std::string(43, 'A') + "\r\n";
  for (int i = 0; i < identity::TokenGuard::kBurst; ++i) {
    EXPECT_EQ(Get(i % 2 == 0 ? "/admin/rules" : "/admin/enforcement", guess).status, 401);
  }
  EXPECT_EQ(Get("/admin/rules", guess).status, 429);
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(services_.token_failures, identity::TokenGuard::kBurst + 1U);
  const std::string right = "Authorization: Bearer " + tokens_[kViewer] + "\r\n";
  Connect();
  EXPECT_EQ(Get("/admin/rules", right).status, 429);
  peer_ = {.address = "192.0.2.8", .ip = ParseAddress("192.0.2.8")};
  Connect();
  EXPECT_EQ(Get("/admin/rules", right).status, 200) << "an owner elsewhere is not affected";
}

TEST_F(RolesTest, AnAdminListenerServesAdministratorsAndTheOtherChecks) {
  services_.envoy_state.emplace(services_.envoy_config, EnvoyOptions{});
  loop_ = std::make_unique<HttpLoop>(services_, options_);
  const auto is_missing = [&](const HttpRoute& route, HttpSurface surface) {
    session_ = std::make_unique<HttpSession>(*loop_, transport_, peer_, surface);
    return TextOf(Request(MethodOf(route), route.path).body, "code") == "NOT_FOUND";
  };
  for (const HttpRoute& route : HttpRoutes()) {
    if (route.path.ends_with("{file}")) continue;  // There is no such file.
    const bool is_admin = route.path.starts_with("/admin/") || route.path == "/metrics" ||
                          route.path.starts_with("/dashboard") ||
                          route.path == "/actuator/prometheus" ||
                          route.path == "/api/v1/rate-limit/reset";
    const bool is_check = route.role == kChecker;
    EXPECT_EQ(is_missing(route, HttpSurface::kPublic), is_admin) << NameOf(route);
    EXPECT_EQ(is_missing(route, HttpSurface::kAdmin), is_check) << NameOf(route);
  }
}

}  // namespace
}  // namespace sluice::api
