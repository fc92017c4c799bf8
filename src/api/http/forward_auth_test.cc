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

constexpr std::string_view kForwardAuthRules = R"(
deny: [blocked]
tiers: { free: { limit: 1 }, pro: { limit: 2 } }
default_tier: free
endpoints: ["/orders/{id}"]
rules:
  - { id: login, match: { endpoint: /login }, per: ip, algorithm: fixed_window, limit: 1, window: 60,
      denial: { status: 418, body: "wait {retry_after_seconds}", headers: { X-Why: login } } }
  - { id: orders, match: { endpoint: "/orders/{id}", method: POST }, algorithm: fixed_window,
      limit: 1, window: 60 }
  - { id: tiered, match: { endpoint: /tiered }, algorithm: fixed_window, window: 60 }
  - { id: hosted, match: { host: api.example.com, endpoint: /hosted }, per: [],
      algorithm: fixed_window, limit: 1, window: 60 }
  - { id: costly, match: { endpoint: /costly }, algorithm: fixed_window, limit: 10, window: 60 }
)";

class ForwardAuthTest : public testing::HttpTest {
 protected:
  void SetUp() override { Load(kForwardAuthRules); }

  // The local proxy tells of a call.
  Heard Ask(std::string_view uri, std::string_view headers = {}, std::string_view path = "/v1/auth",
            std::string_view method = "GET") {
    return Get(path, "X-Forwarded-Method: " + std::string(method) + "\r\nX-Forwarded-Uri: " +
                         std::string(uri) + "\r\n" + std::string(headers));
  }

  void Trust(std::vector<std::string> proxies) {
    services_.Identify({.trusted_proxies = std::move(proxies)});
  }
};

TEST_F(ForwardAuthTest, AProxyCanRelayADenial) {
  const Heard passes = Ask("/login?next=/");
  EXPECT_EQ(passes.status, 200);
  EXPECT_EQ(passes.Header("X-Sluice-Status"), "200");
  EXPECT_EQ(passes.Header("X-RateLimit-Remaining"), "0");
  const Heard denied = Ask("/login");
  EXPECT_EQ(denied.status, 418);
  EXPECT_EQ(denied.Header("X-Sluice-Status"), "418");
  EXPECT_EQ(denied.Header("Retry-After"), "20");
  EXPECT_EQ(denied.Header("X-Why"), "login");
  EXPECT_EQ(denied.body, "wait 20");
}

TEST_F(ForwardAuthTest, NginxGets403AndTheRealStatusInAHeader) {
  EXPECT_EQ(Ask("/login", {}, "/v1/auth/nginx").status, 200);
  const Heard denied = Ask("/login", {}, "/v1/auth/nginx");
  EXPECT_EQ(denied.status, 403);
  EXPECT_EQ(denied.Header("X-Sluice-Status"), "418");
  EXPECT_EQ(denied.Header("Retry-After"), "20");
  EXPECT_EQ(Ask("/x", "X-API-Key: blocked\r\n", "/v1/auth/nginx").Header("X-Sluice-Status"), "403");
  const Heard wrong = Get("/v1/auth/nginx", "X-Forwarded-Method: GET\r\n");
  EXPECT_EQ(wrong.status, 403);
  EXPECT_EQ(wrong.Header("X-Sluice-Status"), "400");
}

TEST_F(ForwardAuthTest, AnEndpointIsTheSameWhateverFollowsIt) {
  EXPECT_EQ(Ask("/login#x", {}).status, 200);
  EXPECT_EQ(Ask("http://api.example.com/login#/free", {}).status, 418);
}

TEST_F(ForwardAuthTest, IngressNginxTellsInItsOwnHeadersAndNoOthersCount) {
  const auto ask = [this](std::string_view url) {
    return Get("/v1/auth/ingress-nginx", "X-Original-Method: GET\r\nX-Original-URL: " +
                                             std::string(url) + "\r\nX-Forwarded-Uri: /free\r\n")
        .Header("X-Sluice-Status");
  };
  EXPECT_EQ(ask("https://api.example.com/login?x"), "200");
  EXPECT_EQ(ask("https://api.example.com/login"), "418");
  EXPECT_EQ(ask("https://api.example.com"), "200");
  EXPECT_EQ(ask("nonsense"), "400");
}

TEST_F(ForwardAuthTest, EnvoyAsksWithTheCallItself) {
  EXPECT_EQ(Request("POST", "/v1/auth/envoy/orders/17?x=1", "").status, 200);
  EXPECT_EQ(Request("POST", "/v1/auth/envoy/orders/18", "").status, 429);
  EXPECT_EQ(Request("GET", "/v1/auth/envoy/orders/18", "").status, 200);
  EXPECT_EQ(Request("OPTIONS", "/v1/auth/envoy/orders/18", "").Header("X-Sluice-Status"), "200");
  EXPECT_EQ(Get("/v1/auth/envoy").status, 200);
  EXPECT_EQ(Get("/v1/auth/envoys").status, 404);
}

TEST_F(ForwardAuthTest, OneEndpointIsOneHoweverItIsWritten) {
  EXPECT_EQ(Ask("/x/..//%6cogin/").status, 200);
  EXPECT_EQ(Ask("/login").status, 418);
}

TEST_F(ForwardAuthTest, AnEscapedQuestionMarkHidesNothing) {
  EXPECT_EQ(Ask("/costly").Header("X-RateLimit-Remaining"), "9");
  EXPECT_EQ(Ask("/%3f/../costly").Header("X-RateLimit-Remaining"), "8");
  EXPECT_EQ(Ask("/%23/../costly").Header("X-RateLimit-Remaining"), "7");
  EXPECT_EQ(Ask("/costly%3F/x").Header("X-RateLimit-Remaining"), "");
}

TEST_F(ForwardAuthTest, WhatAProxyMustTellItTellsOnce) {
  const auto problem = [](const Heard& heard) { return TextOf(heard.body, "field"); };
  EXPECT_EQ(problem(Get("/v1/auth", "X-Forwarded-Method: GET\r\n")), "X-Forwarded-Uri");
  EXPECT_EQ(problem(Get("/v1/auth", "X-Forwarded-Uri: /\r\n")), "X-Forwarded-Method");
  EXPECT_EQ(problem(Ask("/a", "X-Forwarded-Uri: /b\r\n")), "X-Forwarded-Uri");
  EXPECT_EQ(problem(Ask("b")), "X-Forwarded-Uri");
}

TEST_F(ForwardAuthTest, AHostIsTheSameHoweverItIsWritten) {
  EXPECT_EQ(Ask("/hosted", "X-Forwarded-Host: api.example.com\r\n").status, 200);
  for (const std::string host :
       {"API.example.com", "api.example.com:8443", "api.example.com.", "Api.example.com.:443"}) {
    EXPECT_EQ(Ask("/hosted", "X-Forwarded-Host: " + host + "\r\n").status, 429) << host;
  }
  EXPECT_EQ(Ask("/hosted", "X-Forwarded-Host: www.example.com\r\n").status, 200);
  const Heard ingress = Get("/v1/auth/ingress-nginx",
                            "X-Original-Method: GET\r\n"
                            "X-Original-URL: https://API.example.com.:443/hosted\r\n");
  EXPECT_EQ(ingress.Header("X-Sluice-Status"), "429");
}

TEST_F(ForwardAuthTest, OfSeveralHostsNoneIsBelieved) {
  const auto refused = [this](std::string_view hosts) {
    return TextOf(Ask("/hosted", hosts).body, "field");
  };
  EXPECT_EQ(refused("X-Forwarded-Host: a\r\nX-Forwarded-Host: api.example.com\r\n"),
            "X-Forwarded-Host");
  EXPECT_EQ(refused("X-Forwarded-Host: a, api.example.com\r\n"), "X-Forwarded-Host");
}

TEST_F(ForwardAuthTest, WhatAnUrlClaimsIsNotWhoCalls) {
  EXPECT_EQ(Ask("/login?key=a&ip=192.0.2.1&tier=pro").status, 200);
  EXPECT_EQ(Ask("/login?key=b&ip=192.0.2.2").status, 418);
  EXPECT_EQ(
      Get("/v1/auth?key=c&ip=192.0.2.3", "X-Forwarded-Method: GET\r\nX-Forwarded-Uri: /login\r\n")
          .status,
      418);
}

TEST_F(ForwardAuthTest, AddressesAreThoseThatTrustedProxiesTell) {
  const std::string_view one = "X-Forwarded-For: 192.0.2.1\r\n";
  const std::string_view other = "X-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n";
  EXPECT_EQ(Ask("/login", one).status, 200);
  EXPECT_EQ(Ask("/login", other).status, 418) << "no proxy is trusted";
  Trust({"127.0.0.1"});
  EXPECT_EQ(Ask("/login", one).status, 200);
  EXPECT_EQ(Ask("/login", other).status, 200);
  EXPECT_EQ(Ask("/login", other).status, 418);
}

TEST_F(ForwardAuthTest, HeadersOfTheProxyCountOnlyIfItIsTrusted) {
  options_.proxy_headers = {{"X-Tier", "tier"}, {"X-Cost", "cost"}};
  Start();
  EXPECT_EQ(Ask("/tiered", "X-Tier: pro\r\n").Header("X-RateLimit-Limit"), "1");
  EXPECT_EQ(Ask("/costly", "X-Cost: 7\r\n").Header("X-RateLimit-Remaining"), "9");
  Trust({"127.0.0.0/8"});
  EXPECT_EQ(Ask("/tiered", "X-Tier: pro\r\n").Header("X-RateLimit-Limit"), "2");
  EXPECT_EQ(Ask("/costly", "X-Cost: 7\r\n").Header("X-RateLimit-Remaining"), "2");
  const Heard wrong = Ask("/costly", "X-Cost: many\r\n");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(TextOf(wrong.body, "code"), "INVALID_TOKEN_COST");
  EXPECT_EQ(TextOf(wrong.body, "field"), "X-Cost");
  const Heard twice = Ask("/tiered", "X-Tier: enterprise\r\nX-Tier: free\r\n");
  EXPECT_EQ(twice.status, 400);
  EXPECT_EQ(TextOf(twice.body, "field"), "X-Tier");
}

TEST_F(ForwardAuthTest, KeysThatAreHashedAreNeverShown) {
  services_.Identify({.hash_keys = true, .hash_secret = "a secret of some length"});
  const Heard heard = Check("key=sk_secret&algorithm=TOKEN_BUCKET");
  EXPECT_THAT(heard.body, HasSubstr(R"("key":"hmac:)"));
  EXPECT_THAT(heard.body, ::testing::Not(HasSubstr("sk_secret")));
  const Heard inspected = Get("/admin/inspect?key=sk_secret&endpoint=/costly");
  EXPECT_EQ(inspected.status, 200);
  EXPECT_THAT(inspected.body, HasSubstr("hmac"));
  EXPECT_THAT(inspected.body, ::testing::Not(HasSubstr("sk_secret")));
}

TEST_F(ForwardAuthTest, TheCallerIsCountedAlikeForEveryProxy) {
  const std::string key(100, 'k');  // Long enough to be counted by its hash.
  EXPECT_EQ(Ask("/costly", "X-API-Key: " + key + "\r\n").Header("X-RateLimit-Remaining"), "9");
  EXPECT_EQ(Check("endpoint=/costly&key=" + key).Header("X-RateLimit-Remaining"), "8");
  EXPECT_EQ(Check("endpoint=/login&ip=2001:db8::1").status, 200);
  EXPECT_EQ(Check("endpoint=/login&ip=2001:db8::2").status, 429) << "of one /64";
}

}  // namespace
}  // namespace sluice::api
