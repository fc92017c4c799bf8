#include "api/admin/access.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using testing::TextOf;

constexpr std::string_view kCheck = R"({"key":"a"})";

class AdminAccessTest : public testing::HttpTest {
 protected:
  Heard Ask(std::string_view host, std::string_view headers = "") {
    return Parse(Send("GET /admin/rules HTTP/1.1\r\nHost: " + std::string(host) + "\r\n" +
                      std::string(headers) + "\r\n"));
  }
  Heard PostAs(std::string_view type, std::string_view headers = "",
               std::string_view path = "/api/v1/rate-limit/check") {
    std::string all(headers);
    if (!type.empty()) all.append("Content-Type: ").append(type).append("\r\n");
    return Request("POST", path, kCheck, all);
  }
  Heard Show(std::string_view token) {
    return Get("/admin/rules", "Authorization: Bearer " + std::string(token) + "\r\n");
  }
};

TEST_F(AdminAccessTest, WithoutATokenNoNameOfAPageIsAnswered) {
  for (const char* host : {"localhost", "LOCALHOST:8080", "localhost.", "127.0.0.1", "127.0.0.1:80",
                           "[::1]:8080", "[::1]", "192.0.2.7:8080"}) {
    EXPECT_EQ(Ask(host).status, 200) << host;
  }
  for (const char* host : {"evil.example", "evil.example:8080", "localhost.evil.example",
                           "127.0.0.1.evil.example", "sluice.internal", "2130706433"}) {
    const Heard refused = Ask(host);
    EXPECT_EQ(refused.status, 403) << host;
    EXPECT_THAT(TextOf(refused.body, "detail"), HasSubstr("Host"));
  }
  EXPECT_EQ(Parse(Send("GET /admin/rules HTTP/1.0\r\n\r\n")).status, 200) << "no browser";
  peer_ = {.address = "", .is_local = true};
  Connect();
  EXPECT_EQ(Ask("any").status, 200) << "no browser connects to a Unix socket";
}

TEST_F(AdminAccessTest, NamesCanBeConfigured) {
  options_.admin_hosts = {"sluice.internal"};
  EXPECT_EQ(Ask("Sluice.internal:8080").status, 200);
  EXPECT_EQ(Ask("evil.example").status, 403);
}

TEST_F(AdminAccessTest, WithoutATokenNoPageOfAnotherSiteIsAnswered) {
  for (const char* site : {"none", "same-origin"}) {
    EXPECT_EQ(Ask("localhost", "Sec-Fetch-Site: " + std::string(site) + "\r\n").status, 200);
  }
  for (const char* site : {"cross-site", "same-site", "", "None"}) {
    const Heard refused = Ask("localhost", "Sec-Fetch-Site: " + std::string(site) + "\r\n");
    EXPECT_EQ(refused.status, 403) << site;
    EXPECT_THAT(TextOf(refused.body, "detail"), HasSubstr("Sec-Fetch-Site"));
  }
}

TEST_F(AdminAccessTest, WithATokenItDoesNotMatterWhereARequestComesFrom) {
  services_.token = "s3cret";
  EXPECT_EQ(
      Ask("evil.example", "Sec-Fetch-Site: cross-site\r\nAuthorization: Bearer s3cret\r\n").status,
      200);
}

TEST_F(AdminAccessTest, WhatPagesCanSendUnaskedIsNoCheck) {
  for (const char* type : {"text/plain", "Text/Plain;charset=UTF-8",
                           "multipart/form-data; boundary=x", "text/plain, application/json"}) {
    const Heard refused = PostAs(type);
    EXPECT_EQ(refused.status, 415) << type;
    EXPECT_EQ(TextOf(refused.body, "code"), "UNSUPPORTED_MEDIA_TYPE");
  }
  for (const char* path : {"/api/v1/rate-limit/acquire", "/api/v1/rate-limit/settle",
                           "/api/v1/rate-limit/cancel", "/admin/grant"}) {
    EXPECT_EQ(PostAs("text/plain", "", path).status, 415) << path;
  }
}

TEST_F(AdminAccessTest, FormsAndBodiesWithoutATypeAreReadUnlessABrowserSendsThem) {
  for (const char* type : {"", "application/x-www-form-urlencoded"}) {
    EXPECT_EQ(PostAs(type).status, 200) << "as curl -d sends it";
    EXPECT_EQ(PostAs(type, "Origin: http://evil.example\r\n").status, 415) << type;
    EXPECT_EQ(PostAs(type, "Origin: null\r\n").status, 415) << type;
    EXPECT_EQ(PostAs(type, "Sec-Fetch-Site: cross-site\r\n").status, 415) << type;
  }
  EXPECT_EQ(PostAs("application/json", "Origin: http://app.example\r\n").status, 200)
      << "a browser asks before it sends this";
}

TEST_F(AdminAccessTest, AProxysCallMayHaveAnyType) {
  EXPECT_EQ(Request("POST", "/v1/auth", "x",
                    "Content-Type: text/plain\r\nX-Forwarded-Method: POST\r\n"
                    "X-Forwarded-Uri: /a\r\n")
                .status,
            200);
}

TEST_F(AdminAccessTest, WhoGuessesTheTokenTooOftenIsCutOff) {
  services_.token = "s3cret";
  peer_ = {.address = "192.0.2.1", .ip = ParseAddress("192.0.2.1")};
  for (int i = 0; i < identity::TokenGuard::kBurst; ++i) EXPECT_EQ(Show("guess").status, 401);
  EXPECT_FALSE(session_->closing());
  const Heard limited = Show("guess");
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(TextOf(limited.body, "code"), "TOO_MANY_ATTEMPTS");
  EXPECT_EQ(limited.Header("Connection"), "close");
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(services_.token_failures, identity::TokenGuard::kBurst + 1U);
  Connect();
  EXPECT_EQ(Show("s3cret").status, 429) << "right or wrong";
  Connect();
  EXPECT_EQ(Get("/admin/rules").status, 401) << "no token is no guess";
  peer_ = {.address = "192.0.2.2", .ip = ParseAddress("192.0.2.2")};
  Connect();
  EXPECT_EQ(Show("s3cret").status, 200) << "others are not affected";
}

TEST_F(AdminAccessTest, BehindATrustedProxyTheRightTokenIsAlwaysAccepted) {
  services_.token = "s3cret";
  for (int i = 0; i < 2 * identity::TokenGuard::kBurst; ++i) {
    EXPECT_EQ(Show("guess").status, i < identity::TokenGuard::kBurst ? 401 : 429);
    Connect();
  }
  EXPECT_EQ(Show("s3cret").status, 200);
}

}  // namespace
}  // namespace sluice::api
