#include <atomic>
#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sluice/http_filter.h>

#include "base/fake_clock.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kRules = R"(
deny: [bad-key, "2001:db8::bad"]
endpoints: ["/items/{id}"]
rules:
  - { id: items, match: { endpoint: "/items/{id}" }, algorithm: fixed_window, limit: 2, window: 1h }
  - { id: slow, match: { endpoint: /slow }, algorithm: concurrency, limit: 1 }
  - { id: teapot, match: { endpoint: /teapot }, per: [], algorithm: fixed_window, limit: 1, window: 1h,
      denial: { status: 418, body: "short and stout", content_type: text/plain, headers: { X-Spout: here } } }
  - { id: users, match: { endpoint: /users }, per: user, algorithm: fixed_window, limit: 1, window: 1h }
  - { id: hosted, match: { endpoint: /hosted, host: api.example.com }, per: [],
      algorithm: fixed_window, limit: 1, window: 1h }
  - { id: paid, match: { endpoint: /paid, method: POST }, algorithm: fixed_window, limit: 10, window: 1h }
)";

Rules Read(std::string_view yaml) {
  auto rules = Rules::FromText(yaml);
  EXPECT_TRUE(rules.ok()) << rules.error().message;
  return *std::move(rules);
}

class HttpFilterTest : public ::testing::Test {
 protected:
  struct Asked {
    std::string_view target = "/items/1";
    std::vector<HttpField> headers{};
    std::string_view peer = "203.0.113.9";
    std::string_view method = "GET";
    std::int64_t cost = 1;
    std::vector<Attribute> attributes{};
  };

  HttpFilter Make(HttpFilterOptions options = {}) {
    options.clock = &clock_;
    return HttpFilter::Make(limiter_, rules_, options).value();
  }

  static HttpVerdict Check(HttpFilter& filter, const Asked& asked) {
    return filter.Check({.method = asked.method,
                         .target = asked.target,
                         .headers = asked.headers,
                         .peer = asked.peer,
                         .cost = asked.cost,
                         .attributes = asked.attributes});
  }

  static std::string Header(const HttpVerdict& verdict, std::string_view name) {
    for (const auto& [known, value] : verdict.headers) {
      if (known == name) return value;
    }
    return "none";
  }

  // How many of some calls pass.
  static int Passing(HttpFilter& filter, const std::vector<Asked>& calls) {
    int passing = 0;
    for (const Asked& call : calls) passing += Check(filter, call).passes ? 1 : 0;
    return passing;
  }

  FakeClock clock_{WallTime(std::chrono::seconds(1'900'000'000))};
  Limiter limiter_ = Limiter::InMemory({.max_keys = 1000, .clock = &clock_}).value();
  Rules rules_ = Read(kRules);
};

TEST_F(HttpFilterTest, LimitsAreEnforcedAndReportedInHeaders) {
  HttpFilter filter = Make();
  const HttpVerdict first = Check(filter, {});
  EXPECT_TRUE(first.passes);
  EXPECT_EQ(first.status, 200);
  EXPECT_EQ(Header(first, "X-RateLimit-Limit"), "2");
  EXPECT_EQ(Header(first, "X-RateLimit-Remaining"), "1");
  EXPECT_EQ(Header(first, "Retry-After"), "none");
  EXPECT_THAT(first.body, IsEmpty());
  EXPECT_TRUE(Check(filter, {.target = "/items/2?page=1"}).passes);

  const HttpVerdict third = Check(filter, {.target = "/items//3/"});
  EXPECT_FALSE(third.passes);
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(Header(third, "X-RateLimit-Remaining"), "0");
  EXPECT_NE(Header(third, "Retry-After"), "none");
  EXPECT_EQ(third.content_type, "application/json");
  EXPECT_THAT(third.body, HasSubstr(R"("code":"RATE_LIMIT_EXCEEDED")"));

  clock_.Advance(std::chrono::seconds(std::stoi(Header(third, "Retry-After"))));
  EXPECT_TRUE(Check(filter, {}).passes);
}

TEST_F(HttpFilterTest, EquivalentTargetsAreOneEndpoint) {
  HttpFilter filter = Make();
  EXPECT_EQ(Passing(filter, {{.target = "http://api.example/items/1"},
                             {.target = "HTTPS://api.example/items/1?x=http://y/z"},
                             {.target = "/items/1#/elsewhere"},
                             {.target = "/%69tems/1"}}),
            2);
}

TEST_F(HttpFilterTest, EachKeyAndEachAddressHasItsBudget) {
  HttpFilter filter = Make();
  EXPECT_EQ(Passing(filter, {{}, {}, {}}), 2);
  EXPECT_EQ(Passing(filter, {{.peer = "203.0.113.8:4711"}}), 1);
  const Asked one{.headers = {{"x-api-key", "one"}}};
  const Asked two{.headers = {{"X-API-Key", "two"}}};
  EXPECT_EQ(Passing(filter, {one, one, one, two, two, two}), 4);
}

TEST_F(HttpFilterTest, HeadersOfUntrustedPeersAreIgnored) {
  HttpFilter strict = Make();
  std::vector<Asked> forged;
  for (const char* address : {"1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"}) {
    forged.push_back(
        {.headers = {
             {"X-Forwarded-For", address}, {"X-Real-IP", address}, {"Forwarded", address}}});
  }
  EXPECT_EQ(Passing(strict, forged), 2);
  HttpFilter trusting = Make({.trusted_proxies = {"203.0.113.0/24"}});
  EXPECT_EQ(Passing(trusting, forged), 4);
}

TEST_F(HttpFilterTest, Ipv6IsCountedByItsNetworkAndDeniedByItsAddress) {
  HttpFilter filter = Make();
  EXPECT_EQ(
      Passing(filter, {{.peer = "2001:db8::1"}, {.peer = "2001:db8::2"}, {.peer = "2001:db8::3"}}),
      2);
  EXPECT_EQ(Check(filter, {.target = "/", .peer = "2001:db8::bad"}).status, 403);
  EXPECT_TRUE(Check(filter, {.target = "/", .peer = "fe80::1%eth0"}).passes);
}

TEST_F(HttpFilterTest, ARuleConfiguresTheResponse) {
  HttpFilter filter = Make();
  EXPECT_TRUE(Check(filter, {.target = "/teapot"}).passes);
  const HttpVerdict denied = Check(filter, {.target = "/teapot"});
  EXPECT_EQ(denied.status, 418);
  EXPECT_EQ(denied.body, "short and stout");
  EXPECT_EQ(denied.content_type, "text/plain");
  EXPECT_EQ(Header(denied, "X-Spout"), "here");
}

TEST_F(HttpFilterTest, ProblemBodiesAreSentToClientsThatAcceptThem) {
  HttpFilter filter = Make();
  const Asked asked{.headers = {{"Accept", "application/problem+json"}}};
  Passing(filter, {asked, asked});
  const HttpVerdict denied = Check(filter, asked);
  EXPECT_EQ(denied.content_type, "application/problem+json");
  EXPECT_THAT(denied.body, HasSubstr("violated-policies"));
}

TEST_F(HttpFilterTest, CallersThatCannotBeIdentifiedAreRejected) {
  HttpFilter filter = Make();
  const HttpVerdict twice = Check(filter, {.headers = {{"X-API-Key", "a"}, {"X-API-Key", "b"}}});
  EXPECT_FALSE(twice.passes);
  EXPECT_EQ(twice.status, 400);
  EXPECT_THAT(twice.body, HasSubstr("INVALID_KEY"));
  const HttpVerdict listed = Check(filter, {.headers = {{"X-API-Key", "bad-key"}}});
  EXPECT_EQ(listed.status, 403);
  EXPECT_EQ(listed.ruling, Ruling::kDenyListed);
  EXPECT_THAT(listed.body, HasSubstr("DENY_LISTED"));

  HttpFilterOptions options{.sources = {"jwt"}};
  options.jwt.unverified = true;
  HttpFilter with_tokens = Make(options);
  const HttpVerdict bad = Check(with_tokens, {.headers = {{"Authorization", "Bearer a.b.c"}}});
  EXPECT_EQ(bad.status, 401);
  EXPECT_THAT(bad.body, HasSubstr("INVALID_TOKEN"));
  EXPECT_EQ(Header(bad, "WWW-Authenticate"), "Bearer error=\"invalid_token\"");
}

TEST_F(HttpFilterTest, AttributesOfTheProgramTakePrecedence) {
  HttpFilter filter = Make();
  const auto as = [](std::string_view user) {
    return Asked{.target = "/users", .attributes = {{"user", user}}};
  };
  EXPECT_EQ(Passing(filter, {as("alice"), as("alice"), as("bob")}), 2);
}

TEST_F(HttpFilterTest, MethodAndCostCount) {
  HttpFilter filter = Make();
  const HttpVerdict verdict = Check(filter, {.target = "/paid", .method = "POST", .cost = 4});
  EXPECT_EQ(Header(verdict, "X-RateLimit-Remaining"), "6");
  const HttpVerdict get = Check(filter, {.target = "/paid", .method = "GET", .cost = 4});
  EXPECT_EQ(get.ruling, Ruling::kNoRule);
  EXPECT_THAT(get.headers, IsEmpty());
  const HttpVerdict never = Check(filter, {.target = "/paid", .method = "POST", .cost = 11});
  EXPECT_EQ(never.status, 400);
  EXPECT_THAT(never.body, HasSubstr("COST_EXCEEDS_LIMIT"));
}

TEST_F(HttpFilterTest, ASlotIsFreeAgainOnceTheCallIsFinished) {
  HttpFilter filter = Make();
  const HttpVerdict first = Check(filter, {.target = "/slow"});
  EXPECT_TRUE(first.passes);
  EXPECT_EQ(Check(filter, {.target = "/slow"}).status, 429);
  filter.Finish(first);
  EXPECT_TRUE(Check(filter, {.target = "/slow"}).passes);
}

TEST_F(HttpFilterTest, HeadersHaveTheConfiguredStyle) {
  HttpFilter filter = Make({.header_style = "draft-10"});
  EXPECT_EQ(Header(Check(filter, {}), "RateLimit-Policy"), "\"items:requests\";q=2;w=3600");
  HttpFilter none = Make({.header_style = "none"});
  EXPECT_THAT(Check(none, {}).headers, IsEmpty());
}

TEST_F(HttpFilterTest, ManyThreadsMayCheck) {
  HttpFilter filter = Make();
  std::atomic<int> passing{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) passing += Check(filter, {}).passes ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(passing, 2);
}

TEST_F(HttpFilterTest, InvalidOptionsAreRejected) {
  const auto problem = [&](const HttpFilterOptions& options) {
    const auto made = HttpFilter::Make(limiter_, rules_, options);
    return made ? "fine" : made.error().message;
  };
  EXPECT_EQ(problem({}), "fine");
  EXPECT_THAT(problem({.sources = {"X-API-Key"}}), HasSubstr("is no source of keys"));
  EXPECT_THAT(problem({.trusted_proxies = {"proxy.example"}}), HasSubstr("trusted proxy"));
  EXPECT_THAT(problem({.address_header = "True-Client-IP"}),
              HasSubstr("is no header of addresses"));
  EXPECT_THAT(problem({.header_style = "draft-9"}), HasSubstr("is no style of headers"));
  EXPECT_THAT(problem({.sources = {"jwt"}}), HasSubstr("no key to verify tokens"));
}

TEST_F(HttpFilterTest, EquivalentHostsAreOne) {
  HttpFilter filter = Make();
  const std::vector<Asked> calls = {
      {.target = "/hosted", .headers = {{"Host", "api.example.com"}}},
      {.target = "/hosted", .headers = {{"Host", "API.example.com:8443"}}},
      {.target = "/hosted", .headers = {{"Host", "api.example.com."}}},
      {.target = "http://Api.Example.com:80/hosted"},
      {.target = "/hosted", .attributes = {{"host", "API.EXAMPLE.COM"}}},
  };
  EXPECT_EQ(Passing(filter, calls), 1);
}

TEST_F(HttpFilterTest, PathsThatTheProgramFoldsAreOne) {
  HttpFilter filter = Make({.fold_paths = {"case", "parameters", "trailing_dots"}});
  EXPECT_EQ(Passing(filter, {{.target = "/teapot"},
                             {.target = "/Teapot"},
                             {.target = "/teapot;a=b"},
                             {.target = "/x/..;/teapot."}}),
            1);
  const auto unknown = HttpFilter::Make(limiter_, rules_, {.fold_paths = {"dots"}});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message, HasSubstr("trailing_dots"));
  const Rules upper = Read("rules: [{ id: a, match: { endpoint: /Login }, limit: 1/s }]");
  const auto never = HttpFilter::Make(limiter_, upper, {.fold_paths = {"case"}});
  ASSERT_FALSE(never.ok());
  EXPECT_THAT(never.error().message, HasSubstr("/Login"));
}

}  // namespace
}  // namespace sluice
