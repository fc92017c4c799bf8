#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;

class EnvoyJsonTest : public testing::HttpTest {
 protected:
  EnvoyJsonTest() {
    const FileContent file{.path = "shop.yaml", .content = R"(
domain: shop
descriptors:
  - key: user
    rate_limit: { name: per_user, unit: minute, requests_per_unit: 3 }
  - key: free
    rate_limit: { unlimited: true }
)"};
    LoadConfig(services_.envoy_config, {&file, 1}, {}, services_.now());
    services_.envoy_state.emplace(services_.envoy_config, EnvoyOptions{});
  }
  Heard Ask(std::string_view body) { return Post("/json", body); }
};

TEST_F(EnvoyJsonTest, AnswersAsProto3WritesIt) {
  const Heard heard =
      Ask(R"({"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})");
  EXPECT_EQ(heard.status, 200);
  EXPECT_EQ(heard.Header("Content-Type"), "application/json");
  EXPECT_EQ(
      heard.body,
      R"({"overallCode":"OK","statuses":[{"code":"OK","currentLimit":{"name":"per_user",)"
      R"("requestsPerUnit":3,"unit":"MINUTE"},"limitRemaining":2,"durationUntilReset":"20s"}]})");
}

TEST_F(EnvoyJsonTest, WhatIsOverTheLimitIs429) {
  const std::string_view body =
      R"({"domain":"shop","hitsAddend":3,"descriptors":[{"entries":[{"key":"user","value":"a"}]}]})";
  EXPECT_EQ(Ask(body).status, 200);
  const Heard heard = Ask(body);
  EXPECT_EQ(heard.status, 429);
  EXPECT_THAT(heard.body,
              HasSubstr(R"({"overallCode":"OVER_LIMIT","statuses":[{"code":"OVER_LIMIT")"));
}

TEST_F(EnvoyJsonTest, BothSpellingsAndAllFormsOfNumbersAreRead) {
  for (const std::string_view fields :
       {R"("hits_addend":"2")", R"("hitsAddend":2.0)",
        R"("hits_addend":2,"is_negative_hits":false)", R"("hitsAddend":"2","isNegativeHits":null)",
        R"("hits_addend":2,"limit":{"requests_per_unit":3,"unit":"MINUTE"})",
        R"("hitsAddend":2,"limit":{"requestsPerUnit":"3","unit":2})"}) {
    services_.clock.Advance(std::chrono::minutes(1));
    const std::string body =
        R"({"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"a"}],)" +
        std::string(fields) + "}]}";
    const Heard heard = Ask(body);
    EXPECT_EQ(heard.status, 200) << body << heard.body;
    EXPECT_THAT(heard.body, HasSubstr(R"("limitRemaining":1,)")) << body;
  }
}

TEST_F(EnvoyJsonTest, NegativeHitsAreRefusedUnlessTheyAreSwitchedOn) {
  const auto body = [](std::string_view more) {
    return R"({"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"a"}],)" +
           std::string(more) + "}]}";
  };
  EXPECT_EQ(Ask(body(R"("hitsAddend":3)")).status, 200);
  const std::string back = body(R"("hitsAddend":1,"isNegativeHits":true)");
  for (const envoy::NegativeHits setting :
       {envoy::NegativeHits::kOff, envoy::NegativeHits::kEnvoyDomains}) {
    services_.envoy_state.emplace(services_.envoy_config, EnvoyOptions{.negative_hits = setting});
    const Heard refused = Ask(back);
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.body, HasSubstr("negative hits are refused here"));
  }
  services_.envoy_state.emplace(services_.envoy_config,
                                EnvoyOptions{.negative_hits = envoy::NegativeHits::kOn});
  EXPECT_THAT(Ask(back).body, HasSubstr(R"("limitRemaining":1)"));
}

TEST_F(EnvoyJsonTest, DescriptorsWithoutALimitAreOk) {
  EXPECT_EQ(Ask(R"({"domain":"shop","descriptors":[{},{"entries":[{"key":"free"}]}]})").body,
            R"({"overallCode":"OK","statuses":[{"code":"OK"},)"
            R"({"code":"OK","limitRemaining":4294967295}]})");
}

TEST_F(EnvoyJsonTest, ErrorsAre400AndNameTheField) {
  const auto expect = [this](std::string_view body, std::string_view field,
                             std::string_view detail) {
    const Heard heard = Ask(body);
    EXPECT_EQ(heard.status, 400) << body;
    EXPECT_THAT(heard.body, HasSubstr(std::string(field))) << body;
    EXPECT_THAT(heard.body, HasSubstr(std::string(detail))) << body;
  };
  expect("[]", "", "");
  expect(R"({"domain":""})", "", "rate limit domain must not be empty");
  expect(R"({"domain":"shop"})", "", "rate limit descriptor list must not be empty");
  expect(R"({"domain":7})", "domain", "must be a string");
  expect(R"({"domain":"a","dom":1})", "dom", "unknown field");
  expect(R"({"hitsAddend":1,"hits_addend":1})", "hitsAddend", "is there twice");
  expect(R"({"domain":"a","hitsAddend":-1})", "hitsAddend", "whole number");
  expect(R"({"domain":"a","hitsAddend":4294967296})", "hitsAddend", "whole number");
  expect(R"({"domain":"a","descriptors":{}})", "descriptors", "must be an array");
  expect(R"({"domain":"a","descriptors":[1]})", "descriptors[0]", "must be an object");
  expect(R"({"domain":"a","descriptors":[{"entries":[{"key":1}]}]})",
         "descriptors[0].entries[0].key", "must be a string");
  expect(R"({"domain":"a","descriptors":[{"limit":{"unit":"WEEK"}}]})", "descriptors[0].limit.unit",
         "must be SECOND");
  expect(R"({"domain":"shop","descriptors":[{"limit":{"unit":9}}]})", "", "no unit");
}

TEST_F(EnvoyJsonTest, ThereIsNoSuchRouteWithoutTheService) {
  services_.envoy_state.reset();
  EXPECT_EQ(Ask("{}").status, 404);
}

TEST_F(EnvoyJsonTest, WaitsForTheStore) {
  Start();
  store_.answers_later = true;
  const std::string body =
      R"({"domain":"shop","descriptors":[{"entries":[{"key":"user","value":"a"}]}]})";
  EXPECT_EQ(Send("POST /json HTTP/1.1\r\nHost: h\r\nContent-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n" + body),
            "");
  const FileContent other{.path = "b.yaml", .content = "domain: b"};
  LoadConfig(services_.envoy_config, {&other, 1}, {}, services_.now());
  store_.Answer(1);
  EXPECT_THAT(Parse(Taken()).body, HasSubstr(R"("name":"per_user")"));
}

TEST_F(EnvoyJsonTest, TheHealthCheckIsThatOfTheOriginal) {
  const Heard well = Get("/healthcheck");
  EXPECT_EQ(well.status, 200);
  EXPECT_EQ(well.body, "OK");
  services_.health.ready = false;
  EXPECT_EQ(Get("/healthcheck").status, 500);
}

}  // namespace
}  // namespace sluice::api
