#include "api/admin/browser_session.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"
#include "ui/assets.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TextOf;

class BrowserSessionTest : public testing::HttpTest {
 protected:
  void SetUp() override {
    services_.token = "a-token-of-enough-length";
    peer_ = {.address = "127.0.0.1", .is_local = true, .ip = ParseAddress("127.0.0.1")};
    options_.receipts.secret = "a secret";
  }

  Heard LogIn(std::string_view token, std::string_view headers = {}) {
    return Request("POST", "/dashboard/session", R"({"token":")" + std::string(token) + "\"}",
                   "Content-Type: application/json\r\n" + std::string(headers));
  }
  // The header that a browser sends back.
  static std::string CookieOf(const Heard& heard) {
    const std::string set = heard.Header("Set-Cookie");
    return "Cookie: " + set.substr(0, set.find(';')) + "\r\n";
  }
};

TEST_F(BrowserSessionTest, ATokenBecomesACookieThatScriptsAndOtherSitesCantUse) {
  const Heard heard = LogIn(services_.token);
  ASSERT_EQ(heard.status, 200) << heard.body;
  const std::string cookie = heard.Header("Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("; HttpOnly"));
  EXPECT_THAT(cookie, HasSubstr("; SameSite=Strict"));
  EXPECT_THAT(cookie, HasSubstr("; Max-Age=43200"));
  EXPECT_THAT(cookie, Not(HasSubstr("Secure"))) << "a browser drops it on http://localhost";
  EXPECT_THAT(cookie, Not(HasSubstr(services_.token)));
  EXPECT_THAT(heard.body, Not(HasSubstr(services_.token)));
  EXPECT_EQ(heard.Header("Cache-Control"), "no-store");
  EXPECT_EQ(TextOf(heard.body, "role"), "admin");
  EXPECT_EQ(Get("/admin/rules", CookieOf(heard)).status, 200);
  EXPECT_EQ(Get("/admin/rules").status, 401);
}

TEST_F(BrowserSessionTest, WithTlsTheCookieIsSecureAndHasTheHostPrefix) {
  peer_.is_encrypted = true;
  const Heard heard = LogIn(services_.token);
  EXPECT_THAT(heard.Header("Set-Cookie"), StartsWith("__Host-sluice-session"));
  EXPECT_THAT(heard.Header("Set-Cookie"), HasSubstr("; Secure"));
  EXPECT_EQ(Get("/admin/rules", CookieOf(heard)).status, 200);
}

TEST_F(BrowserSessionTest, AWrongTokenGetsNoCookieAndIsCounted) {
  const Heard heard = LogIn("a-wrong-one");
  EXPECT_EQ(heard.status, 401);
  EXPECT_EQ(heard.Header("Set-Cookie"), "");
  EXPECT_EQ(services_.token_failures, 1U);
}

TEST_F(BrowserSessionTest, AChangeNeedsTheTokenOfItsSession) {
  const Heard login = LogIn(services_.token);
  const std::string cookie = CookieOf(login);
  const std::string json = "Content-Type: application/json\r\n";
  const std::string body = R"({"level":"debug"})";
  EXPECT_EQ(Request("PUT", "/admin/log-level", body, json + cookie).status, 403);
  EXPECT_EQ(Request("PUT", "/admin/log-level", body, json + cookie + "X-CSRF-Token: no\r\n").status,
            403);
  const std::string other = TextOf(LogIn(services_.token).body, "csrf");
  EXPECT_EQ(
      Request("PUT", "/admin/log-level", body, json + cookie + "X-CSRF-Token: " + other + "\r\n")
          .status,
      403)
      << "of another session";
  const std::string csrf = "X-CSRF-Token: " + TextOf(login.body, "csrf") + "\r\n";
  EXPECT_EQ(Request("PUT", "/admin/log-level", body, json + cookie + csrf).status, 200);
}

TEST_F(BrowserSessionTest, PagesOfOtherOriginsCantUseASession) {
  const std::string cookie = CookieOf(LogIn(services_.token));
  for (const char* const site : {"cross-site", "same-site"}) {
    const std::string header = "Sec-Fetch-Site: " + std::string(site) + "\r\n";
    EXPECT_EQ(Get("/admin/rules", cookie + header).status, 403) << site;
    EXPECT_EQ(LogIn(services_.token, header).status, 403) << site;
    EXPECT_EQ(Request("DELETE", "/dashboard/session", "", header).status, 403) << site;
  }
  EXPECT_EQ(Get("/admin/rules", cookie + "Sec-Fetch-Site: same-origin\r\n").status, 200);
}

TEST_F(BrowserSessionTest, ASessionEndsAfterTwelveHours) {
  const std::string cookie = CookieOf(LogIn(services_.token));
  services_.clock.Advance(std::chrono::hours(12) - std::chrono::seconds(1));
  EXPECT_EQ(Get("/admin/rules", cookie).status, 200);
  services_.clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(Get("/admin/rules", cookie).status, 401);
}

TEST_F(BrowserSessionTest, ASessionEndsWithItsToken) {
  const std::string cookie = CookieOf(LogIn(services_.token));
  services_.token = "another-token-of-the-server";
  const Heard heard = Get("/admin/rules", cookie);
  EXPECT_EQ(heard.status, 401);
  EXPECT_EQ(services_.token_failures, 0U) << "it was not guessed";
}

TEST_F(BrowserSessionTest, AForgedOrForeignCookieIsNoSession) {
  const std::string cookie = CookieOf(LogIn(services_.token));
  std::string forged = cookie;
  forged[forged.size() - 10] = forged[forged.size() - 10] == 'A' ? 'B' : 'A';
  EXPECT_EQ(Get("/admin/rules", forged).status, 401);
  options_.receipts.secret = "the secret of another server";
  Start();
  EXPECT_EQ(Get("/admin/rules", cookie).status, 401);
}

TEST_F(BrowserSessionTest, ServersOnOneMachineHaveCookiesOfTheirOwn) {
  const auto named = [](std::string_view host) {
    wire::HttpRequest request;
    request.host = host;
    return SessionCookieName(request, false);
  };
  EXPECT_EQ(named("localhost:8080"), "sluice-session-8080");
  EXPECT_EQ(named("[::1]:8081"), "sluice-session-8081");
  EXPECT_EQ(named("[::1]"), "sluice-session");
  EXPECT_EQ(named("limits.example"), "sluice-session");
  EXPECT_EQ(named("a:b;c"), "sluice-session");
}

TEST_F(BrowserSessionTest, TokensAreNotTakenInPlaintextFromElsewhere) {
  peer_ = {.address = "192.0.2.7", .ip = ParseAddress("192.0.2.7")};
  const Heard refused = LogIn(services_.token);
  EXPECT_EQ(refused.status, 403);
  EXPECT_THAT(TextOf(refused.body, "detail"), HasSubstr("admin.plaintext_login"));
  EXPECT_EQ(refused.Header("Set-Cookie"), "");
  options_.plaintext_login = true;
  Start();
  EXPECT_EQ(LogIn(services_.token).status, 200);
}

TEST_F(BrowserSessionTest, WithoutATokenALocalPageIsAnAdministratorButNoOtherPage) {
  services_.token.clear();
  const std::string json = "Content-Type: application/json\r\n";
  const std::string body = R"({"level":"debug"})";
  const auto put = [&](std::string_view headers) {
    return Send("PUT /admin/log-level HTTP/1.1\r\n" + std::string(headers) + json +
                "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body)
        .substr(9, 3);
  };
  EXPECT_EQ(put("Host: localhost:80\r\nOrigin: http://localhost:80\r\n"
                "Sec-Fetch-Site: same-origin\r\n"),
            "200");
  EXPECT_EQ(put("Host: localhost:80\r\nOrigin: http://localhost:81\r\n"), "403");
  EXPECT_EQ(put("Host: localhost:80\r\nOrigin: null\r\n"), "403");
  EXPECT_EQ(put("Host: evil.example\r\nOrigin: http://evil.example\r\n"), "403") << "DNS rebinding";
  const Heard heard = Get("/dashboard/session");
  EXPECT_EQ(TextOf(heard.body, "name"), "local");
}

TEST_F(BrowserSessionTest, ThePageMayNotBeFramedAndLoadsNothingFromElsewhere) {
  const Heard page = Get("/dashboard/");
  ASSERT_EQ(page.status, 200);
  const std::string policy = page.Header("Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(page.Header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(page.Header("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(page.Header("Cache-Control"), "no-cache");
  EXPECT_EQ(Get("/dashboard/", "If-None-Match: " + page.Header("ETag") + "\r\n").status, 304);
}

TEST_F(BrowserSessionTest, FilesAreCompressedForBrowsersAndKeptForEver) {
  const std::string path = "/dashboard/assets/" + std::string(ui::AssetBundle()) + "/app.js";
  const Heard packed = Get(path, "Accept-Encoding: br, gzip\r\n");
  EXPECT_EQ(packed.Header("Content-Encoding"), "gzip");
  EXPECT_THAT(packed.Header("Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(packed.body, ui::FindAsset("app.js")->gzip);
  for (const char* const accepted :
       {"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip;q=0\r\n"}) {
    const Heard plain = Get(path, accepted);
    EXPECT_EQ(plain.Header("Content-Encoding"), "") << accepted;
    EXPECT_EQ(plain.body.size(), ui::FindAsset("app.js")->size) << accepted;
  }
  EXPECT_EQ(Get("/dashboard/assets/0123456789abcdef/app.js").status, 404);
  EXPECT_EQ(Get("/dashboard/assets/" + std::string(ui::AssetBundle()) + "/none.js").status, 404);
}

TEST_F(BrowserSessionTest, TheDashboardCanBeSwitchedOff) {
  options_.dashboard = false;
  Start();
  for (const char* const path : {"/dashboard", "/dashboard/", "/dashboard/session"}) {
    EXPECT_EQ(Get(path).status, 404) << path;
  }
  EXPECT_EQ(LogIn(services_.token).status, 404);
}

}  // namespace
}  // namespace sluice::api
