#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/envoy_caller.h"

namespace sluice::api {
namespace {

using ::testing::ElementsAre;
using testing::EnvoyCaller;
using ::testing::HasSubstr;
using testing::HeardReply;
using ::testing::IsEmpty;
using ::testing::Pair;
using testing::RequestOf;
using testing::SentDescriptor;
using wire::GrpcStatus;

constexpr std::uint64_t kOk = 1;
constexpr std::uint64_t kOver = 2;
constexpr std::uint32_t kMinute = 2;

constexpr std::string_view kFile = R"(
domain: shop
descriptors:
  - key: user
    rate_limit: { name: per_user, unit: minute, requests_per_unit: 3 }
  - key: tenant
    rate_limit: { unit: hour, requests_per_unit: 5 }
  - key: free
    rate_limit: { unlimited: true }
  - key: banned
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: watched
    rate_limit: { unit: minute, requests_per_unit: 1 }
    shadow_mode: true
  - key: gold
    rate_limit: { unit: minute, requests_per_unit: 9, replaces: [{ name: per_user }] }
  - key: quota
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: counted
    count_denied: true
    rate_limit: { unit: minute, requests_per_unit: 4 }
  - key: closed
    on_store_failure: closed
    rate_limit: { unit: minute, requests_per_unit: 4 }
)";

SentDescriptor Of(std::string key, std::string value = "") {
  return {.entries = {{std::move(key), std::move(value)}}};
}

SentDescriptor WithHits(SentDescriptor descriptor, std::uint64_t hits) {
  descriptor.hits = hits;
  return descriptor;
}

class EnvoyServiceTest : public ::testing::Test {
 protected:
  EnvoyServiceTest() { Serve({}); }

  void Serve(EnvoyOptions options) {
    services_.envoy_state.emplace(services_.envoy_config, options);
  }
  void Load(std::string_view file) {
    const FileContent source{.path = "shop.yaml", .content = std::string(file)};
    const LoadReport report = LoadConfig(services_.envoy_config, {&source, 1}, {}, services_.now());
    ASSERT_THAT(report.errors, ::testing::IsEmpty());
  }
  HeardReply Call(const std::vector<SentDescriptor>& descriptors, std::uint32_t hits = 0) {
    return caller_.Call(RequestOf("shop", descriptors, hits));
  }
  std::uint64_t CodeOf(const std::vector<SentDescriptor>& descriptors, std::uint32_t hits = 0) {
    return Call(descriptors, hits).code;
  }
  // What a look says is left.
  std::uint64_t Left(SentDescriptor descriptor) {
    return Call({WithHits(std::move(descriptor), 0)}).statuses.at(0).remaining;
  }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  EnvoyCaller caller_{services_};
};

TEST_F(EnvoyServiceTest, TellsOfTheLimitAndWhatIsLeft) {
  Load(kFile);
  services_.clock.Advance(std::chrono::milliseconds(400));
  const HeardReply reply = Call({Of("user", "a")});
  EXPECT_EQ(reply.code, kOk);
  ASSERT_EQ(reply.statuses.size(), 1U);
  EXPECT_EQ(reply.statuses[0].code, kOk);
  EXPECT_EQ(reply.statuses[0].requests_per_unit, 3U);
  EXPECT_EQ(reply.statuses[0].unit, kMinute);
  EXPECT_EQ(reply.statuses[0].name, "per_user");
  EXPECT_EQ(reply.statuses[0].remaining, 2U);
  EXPECT_EQ(reply.statuses[0].reset_seconds, 20U);  // 1900000000.4 is 40.4 seconds past a minute.
  EXPECT_THAT(reply.headers, IsEmpty());
}

TEST_F(EnvoyServiceTest, DeniesWhatIsOverTheLimitUntilTheWindowEnds) {
  Load(kFile);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(CodeOf({Of("user", "a")}), kOk);
  const HeardReply denied = Call({Of("user", "a")});
  EXPECT_EQ(denied.code, kOver);
  EXPECT_EQ(denied.statuses[0].code, kOver);
  EXPECT_EQ(denied.statuses[0].remaining, 0U);
  EXPECT_EQ(CodeOf({Of("user", "b")}), kOk);
  services_.clock.Advance(std::chrono::seconds(*denied.statuses[0].reset_seconds));
  EXPECT_EQ(CodeOf({Of("user", "a")}), kOk);
}

TEST_F(EnvoyServiceTest, UnknownDomainsAndDescriptorsAreAllowedWithoutALimit) {
  Load(kFile);
  for (const std::string& message :
       {RequestOf("elsewhere", {Of("user", "a")}), RequestOf("shop", {Of("absent", "a")}),
        RequestOf("shop", {{.entries = {{"user", "a"}, {"more", "b"}}}}),
        RequestOf("shop", {SentDescriptor{}})}) {
    const HeardReply reply = caller_.Call(message);
    EXPECT_EQ(reply.status, GrpcStatus::kOk);
    EXPECT_EQ(reply.code, kOk);
    ASSERT_EQ(reply.statuses.size(), 1U);
    EXPECT_EQ(reply.statuses[0].code, kOk);
    EXPECT_FALSE(reply.statuses[0].has_limit);
  }
}

TEST_F(EnvoyServiceTest, RequestsThatSayNothingAreRefusedInTheWordsOfTheOriginal) {
  Load(kFile);
  HeardReply reply = caller_.Call(RequestOf("", {Of("user", "a")}));
  EXPECT_EQ(reply.status, GrpcStatus::kInvalidArgument);
  EXPECT_EQ(reply.error, "rate limit domain must not be empty");
  reply = caller_.Call(RequestOf("shop", {}));
  EXPECT_EQ(reply.status, GrpcStatus::kInvalidArgument);
  EXPECT_EQ(reply.error, "rate limit descriptor list must not be empty");
  reply = caller_.Call("\x0A\x05shop");
  EXPECT_EQ(reply.status, GrpcStatus::kInvalidArgument);
  EXPECT_EQ(reply.error, "the message is no RateLimitRequest");
}

TEST_F(EnvoyServiceTest, MoreLimitsThanCanBeDecidedTogetherAreRefused) {
  Load(kFile);
  std::vector<SentDescriptor> many;
  for (int i = 0; i < 128; ++i) many.push_back(Of("user", std::to_string(i)));
  EXPECT_EQ(Call(many).statuses.size(), 128U);
  many.push_back(Of("user", "one more"));
  EXPECT_EQ(Call(many).error, "at most 128 limits are evaluated at once");
  EXPECT_EQ(Call(std::vector(1001, Of("absent"))).status, GrpcStatus::kInvalidArgument);
  EXPECT_EQ(Call(std::vector(1000, Of("absent"))).statuses.size(), 1000U);
}

TEST_F(EnvoyServiceTest, ADeniedCallTakesNothingFromAnyDescriptor) {
  Load(kFile);
  EXPECT_EQ(CodeOf({Of("user", "a")}, 3), kOk);
  const HeardReply reply = Call({Of("tenant", "t"), Of("user", "a")});
  EXPECT_EQ(reply.code, kOver);
  EXPECT_EQ(reply.statuses[0].code, kOk);
  EXPECT_EQ(reply.statuses[1].code, kOver);
  EXPECT_EQ(Left(Of("tenant", "t")), 5U);
}

TEST_F(EnvoyServiceTest, CountedDenialsTakeWhatIsLeft) {
  Load(kFile);
  EXPECT_EQ(CodeOf({Of("counted", "a")}, 3), kOk);
  EXPECT_EQ(CodeOf({Of("counted", "a")}, 3), kOver);
  EXPECT_EQ(Left(Of("counted", "a")), 0U);
}

TEST_F(EnvoyServiceTest, ADescriptorsOwnHitsWinOverTheRequests) {
  Load(kFile);
  const HeardReply reply = Call({WithHits(Of("user", "a"), 2), Of("tenant", "t")}, 4);
  EXPECT_EQ(reply.statuses[0].remaining, 1U);
  EXPECT_EQ(reply.statuses[1].remaining, 1U);
}

TEST_F(EnvoyServiceTest, ALookTakesNothingAndDeniesOnceNothingIsLeft) {
  Load(kFile);
  EXPECT_EQ(CodeOf({Of("user", "a")}, 2), kOk);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(CodeOf({WithHits(Of("user", "a"), 0)}), kOk);
  EXPECT_EQ(CodeOf({Of("user", "a")}), kOk);
  EXPECT_EQ(CodeOf({WithHits(Of("user", "a"), 0), Of("tenant", "t")}), kOver);
  EXPECT_EQ(Left(Of("tenant", "t")), 5U);
}

TEST_F(EnvoyServiceTest, NegativeHitsAreGivenBackButNeverMoreThanWasTaken) {
  Load(kFile);
  EXPECT_EQ(CodeOf({Of("tenant", "t")}, 4), kOk);
  SentDescriptor back = WithHits(Of("tenant", "t"), 2);
  back.gives_back = true;
  EXPECT_EQ(Call({back}).statuses[0].remaining, 3U);
  back.hits = 100;
  const HeardReply reply = Call({back});
  EXPECT_EQ(reply.code, kOk);
  EXPECT_EQ(reply.statuses[0].remaining, 5U);
  EXPECT_EQ(Call({Of("user", "a"), back}).statuses[0].remaining, 2U);
}

TEST_F(EnvoyServiceTest, NegativeHitsCanBeSwitchedOff) {
  Load(kFile);
  Serve({.negative_hits = envoy::NegativeHits::kOff});
  EXPECT_EQ(CodeOf({Of("tenant", "t")}, 4), kOk);
  SentDescriptor back = WithHits(Of("tenant", "t"), 2);
  back.gives_back = true;
  const HeardReply reply = Call({Of("user", "a"), back});
  EXPECT_EQ(reply.status, wire::GrpcStatus::kInvalidArgument);
  EXPECT_THAT(reply.error, ::testing::HasSubstr("negative_hits"));
  EXPECT_EQ(Left(Of("tenant", "t")), 1U);
  EXPECT_EQ(Left(Of("user", "a")), 3U) << "the whole request is refused";
}

TEST_F(EnvoyServiceTest, ALimitInTheRequestReplacesTheConfigured) {
  Load(kFile);
  SentDescriptor own = Of("user", "a");
  own.limit = {1, kMinute};
  const HeardReply reply = Call({own});
  EXPECT_EQ(reply.statuses[0].requests_per_unit, 1U);
  EXPECT_EQ(reply.statuses[0].unit, kMinute);
  EXPECT_EQ(reply.statuses[0].name, "");
  EXPECT_EQ(CodeOf({own}), kOver);
  own.limit = {0, kMinute};
  EXPECT_EQ(CodeOf({own}), kOver);
  for (const std::uint32_t unit : {0U, 7U, 99U}) {
    own.limit = {1, unit};
    EXPECT_THAT(Call({own}).error, HasSubstr("unit")) << unit;
  }
}

TEST_F(EnvoyServiceTest, UnlimitedIsUnlimited) {
  Load(kFile);
  const HeardReply reply = Call({Of("free", "a")}, 1'000'000);
  EXPECT_EQ(reply.code, kOk);
  EXPECT_EQ(reply.statuses[0].remaining, 4294967295U);
}

TEST_F(EnvoyServiceTest, ALimitOfZeroDeniesEverythingWithoutTheStore) {
  Load(kFile);
  store_.failure = ErrorCode::kStoreUnavailable;
  const HeardReply reply = Call({Of("banned", "a"), Of("tenant", "t")});
  EXPECT_EQ(reply.code, kOver);
  EXPECT_EQ(reply.statuses[0].code, kOver);
  EXPECT_EQ(reply.statuses[0].requests_per_unit, 0U);
  EXPECT_GT(reply.statuses[0].reset_seconds, 0U);
  EXPECT_EQ(reply.statuses[1].code, kOk);
  SentDescriptor back = Of("banned", "a");
  back.gives_back = true;
  EXPECT_EQ(CodeOf({back}), kOk);
}

TEST_F(EnvoyServiceTest, AShadowIsEvaluatedAndAnsweredOk) {
  Load(kFile);
  EXPECT_EQ(Call({Of("watched", "a")}).statuses[0].remaining, 0U);
  const HeardReply reply = Call({Of("watched", "a"), Of("tenant", "t")});
  EXPECT_EQ(reply.code, kOk);
  EXPECT_EQ(reply.statuses[0].code, kOk);
  EXPECT_EQ(reply.statuses[1].remaining, 4U);
}

TEST_F(EnvoyServiceTest, AReplacedLimitIsNotLookedAt) {
  Load(kFile);
  for (int i = 0; i < 9; ++i) {
    const HeardReply reply = Call({Of("user", "a"), Of("gold", "a")});
    EXPECT_EQ(reply.code, kOk) << i;
    EXPECT_FALSE(reply.statuses[0].has_limit);
  }
  EXPECT_EQ(CodeOf({Of("user", "a"), Of("gold", "a")}), kOver);
  EXPECT_EQ(Left(Of("user", "a")), 3U);
}

TEST_F(EnvoyServiceTest, QuotasAreOverOnlyTogether) {
  Load(kFile);
  EXPECT_EQ(CodeOf({Of("quota", "a")}, 2), kOk);
  HeardReply reply = Call({Of("quota", "a"), Of("quota", "b")});
  EXPECT_EQ(reply.code, kOk);
  EXPECT_EQ(reply.statuses[0].code, kOver);
  EXPECT_EQ(reply.statuses[1].remaining, 1U);
  EXPECT_EQ(CodeOf({Of("quota", "a"), Of("quota", "b")}), kOk);
  reply = Call({Of("quota", "a"), Of("quota", "b"), Of("tenant", "t")});
  EXPECT_EQ(reply.code, kOver);
  EXPECT_EQ(Left(Of("tenant", "t")), 5U);
}

TEST_F(EnvoyServiceTest, OneCounterUnderTwoLimitsIsRefused) {
  Load(kFile);
  SentDescriptor one = Of("user", "a");
  one.limit = {1, kMinute};
  SentDescriptor two = Of("user", "a");
  two.limit = {2, kMinute};
  const HeardReply reply = Call({one, two});
  EXPECT_EQ(reply.status, GrpcStatus::kInvalidArgument);
  EXPECT_THAT(reply.error, HasSubstr("one counter"));
}

TEST_F(EnvoyServiceTest, WhileTheStoreFailsTheDescriptorsSayWhatBecomesOfACall) {
  Load(kFile);
  store_.failure = ErrorCode::kStoreUnavailable;
  HeardReply reply = Call({Of("user", "a")});
  EXPECT_EQ(reply.code, kOk);
  EXPECT_EQ(reply.statuses[0].remaining, 3U);
  reply = Call({Of("user", "a"), Of("closed", "c")});
  EXPECT_EQ(reply.code, kOver);
  EXPECT_EQ(reply.statuses[0].code, kOk);
  EXPECT_EQ(reply.statuses[1].code, kOver);
}

TEST_F(EnvoyServiceTest, WhileTheStoreFailsARefundIsNeverOverLimit) {
  Load(kFile);
  store_.failure = ErrorCode::kStoreUnavailable;
  SentDescriptor back = WithHits(Of("user", "a"), 2);
  back.gives_back = true;
  const HeardReply reply = Call({back});
  EXPECT_EQ(reply.code, kOk);
  EXPECT_EQ(reply.statuses[0].code, kOk);
}

TEST_F(EnvoyServiceTest, ACallThatWaitsKeepsTheConfigurationThatItMatched) {
  Load(kFile);
  store_.answers_later = true;
  SentDescriptor back = Of("tenant", "t");
  back.gives_back = true;
  for (const auto& descriptors :
       {std::vector{Of("user", "a")}, std::vector{Of("user", "a"), back}}) {
    caller_.Ask(RequestOf("shop", descriptors));
    for (const int limit : {7, 8, 9}) {
      Load(
          "domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: hour, requests_per_unit: " +
          std::to_string(limit) + " } }]");
      EnvoyCaller(services_).Ask(RequestOf("shop", {Of("absent", "a")}));
    }
    store_.Answer(2);
    const HeardReply reply = caller_.Answered();
    EXPECT_EQ(reply.code, kOk);
    EXPECT_EQ(reply.statuses[0].name, "per_user");
    Load(kFile);
  }
}

TEST_F(EnvoyServiceTest, HeadersAreThoseOfTheNearestLimit) {
  Load(kFile);
  Serve({.ratelimit_headers = true});
  EXPECT_THAT(Call({Of("tenant", "t"), Of("user", "a"), Of("absent")}).headers,
              ElementsAre(Pair("RateLimit-Limit", "3"), Pair("RateLimit-Remaining", "2"),
                          Pair("RateLimit-Reset", "20")));
  EXPECT_EQ(CodeOf({Of("tenant", "t")}, 4), kOk);
  EXPECT_THAT(Call({Of("user", "a"), Of("tenant", "t")}).headers,
              ElementsAre(Pair("RateLimit-Limit", "5"), Pair("RateLimit-Remaining", "0"),
                          Pair("RateLimit-Reset", "800")));
  EXPECT_THAT(Call({Of("absent")}).headers, IsEmpty());
}

TEST_F(EnvoyServiceTest, HeadersMayBeThoseOfTheHttpListener) {
  Load(kFile);
  Serve({.header_style = HeaderStyle::kDraft6});
  EXPECT_THAT(Call({Of("user", "a")}).headers,
              ::testing::Contains(Pair("RateLimit-Remaining", "2")));
  EXPECT_EQ(CodeOf({Of("user", "a")}, 2), kOk);
  EXPECT_THAT(Call({Of("user", "a")}).headers, ::testing::Contains(Pair("Retry-After", "20")));
}

// ---- Domains that our own rules judge.

class EnvoyByRulesTest : public EnvoyServiceTest {
 protected:
  EnvoyByRulesTest() {
    Serve({.rule_domains = {"ours"}});
    const auto report = LoadRules(services_.live, "rules.yaml", R"(
deny: [evil]
rules:
  - id: calls
    per: [api_key]
    algorithm: fixed_window
    limits: [{ name: m, limit: 2, window: 60 }, { name: h, limit: 10, window: 3600 }]
  - id: logins
    match: { endpoint: "/login" }
    per: [ip]
    algorithm: fixed_window
    limit: 1
    window: 60
)",
                                  services_.now());
    EXPECT_THAT(report.errors, ::testing::IsEmpty());
  }
  HeardReply Call(const std::vector<SentDescriptor>& descriptors, std::uint32_t hits = 0) {
    return caller_.Call(RequestOf("ours", descriptors, hits));
  }
  static SentDescriptor Login(std::string key, std::string ip) {
    return {
        .entries = {{"api_key", std::move(key)}, {"endpoint", "/login"}, {"ip", std::move(ip)}}};
  }
};

TEST_F(EnvoyByRulesTest, EntriesAreAttributesAndTheTightestLimitIsReported) {
  HeardReply reply = Call({Of("api_key", "k")});
  EXPECT_EQ(reply.code, kOk);
  EXPECT_EQ(reply.statuses[0].name, "calls");
  EXPECT_EQ(reply.statuses[0].requests_per_unit, 2U);
  EXPECT_EQ(reply.statuses[0].unit, kMinute);
  EXPECT_EQ(reply.statuses[0].remaining, 1U);
  EXPECT_EQ(Call({Of("api_key", "k")}).code, kOk);
  reply = Call({Of("api_key", "k")});
  EXPECT_EQ(reply.code, kOver);
  EXPECT_EQ(reply.statuses[0].code, kOver);
}

TEST_F(EnvoyByRulesTest, DescriptorsAreAllOrNothing) {
  EXPECT_EQ(Call({Login("k", "10.0.0.1")}).code, kOk);
  EXPECT_EQ(Call({Of("api_key", "other"), Login("l", "10.0.0.1")}).code, kOver);
  EXPECT_EQ(Call({WithHits(Of("api_key", "other"), 0)}).statuses[0].remaining, 2U);
}

TEST_F(EnvoyByRulesTest, ListsAndRefundsWorkAsWell) {
  const HeardReply denied = Call({Of("api_key", "evil"), Of("api_key", "k")});
  EXPECT_EQ(denied.code, kOver);
  EXPECT_EQ(denied.statuses[0].code, kOver);
  EXPECT_EQ(Call({Of("api_key", "k")}, 2).code, kOk);
  SentDescriptor back = Of("api_key", "k");
  back.gives_back = true;
  const HeardReply refused = Call({back});
  EXPECT_EQ(refused.status, wire::GrpcStatus::kInvalidArgument) << "rules are not Envoy's";
  EXPECT_THAT(refused.error, ::testing::HasSubstr("negative_hits"));
  Serve({.rule_domains = {"ours"}, .negative_hits = envoy::NegativeHits::kOn});
  EXPECT_EQ(Call({back}).statuses[0].remaining, 1U);
}

TEST_F(EnvoyByRulesTest, AStarStandsForDomainsThatNoFileHas) {
  Load(kFile);
  Serve({.rule_domains = {"*"}});
  EXPECT_EQ(caller_.Call(RequestOf("any", {Of("api_key", "k")})).statuses[0].name, "calls");
  EXPECT_EQ(caller_.Call(RequestOf("shop", {Of("user", "k")})).statuses[0].name, "per_user");
}

}  // namespace
}  // namespace sluice::api
