#include "answer/denial.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "limiter/limiter.h"
#include "store/testing/model_store.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr WallTime kStart{std::chrono::seconds(1'900'000'000)};

struct Headers final : HeaderSink {
  Headers& Add(std::string_view name, std::string_view value) override {
    lines.emplace_back(name, value);
    return *this;
  }
  Headers& Add(std::string_view name, std::int64_t value) override {
    return Add(name, std::to_string(value));
  }
  std::vector<std::pair<std::string, std::string>> lines;
};

class DenialTest : public ::testing::Test {
 protected:
  struct Told {
    int status;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
  };

  // What a caller gets that exceeds this rule's limit of one in an hour.
  Told Deny(std::string_view rule, bool wants_problem = false) {
    const std::string yaml = "rules: [{ id: r1, algorithm: fixed_window, limit: 1, window: 1h, " +
                             std::string(rule) + " }]";
    EXPECT_EQ(live_.Load("rules.yaml", yaml, kStart).outcome, rules::LoadOutcome::kActivated);
    for (int i = 0; i < 2; ++i) {
      question_.Clear();
      question_.Add("api_key", "a");
      limiter_.Ask(question_, kStart);
    }
    const HttpAnswer answer = AnswerTo(question_);
    const Denial denial(question_, answer, wants_problem);
    Headers headers;
    denial.AddHeaders(headers);
    Told told{denial.status(), std::string(denial.content_type()), {}, headers.lines};
    denial.AppendBody(kStart, told.body);
    return told;
  }

  store::testing::ModelStore store_;
  rules::LiveRules live_;
  rules::RulesReader reader_{live_};
  limiter::Settings settings_;
  limiter::Limiter limiter_{store_, nullptr, reader_, settings_};
  limiter::Question question_;
};

TEST_F(DenialTest, IsJsonUnlessTheRuleSaysOtherwise) {
  const Told told = Deny("version: 1");
  EXPECT_EQ(told.status, 429);
  EXPECT_EQ(told.content_type, "application/json");
  EXPECT_THAT(told.body, HasSubstr(R"({"error":{"code":"RATE_LIMIT_EXCEEDED","message":)"));
  EXPECT_THAT(told.body, HasSubstr(R"("details":{"limit":1,"window_seconds":3600,)"));
  EXPECT_THAT(told.headers, IsEmpty());
}

TEST_F(DenialTest, IsAProblemForThoseWhoPreferOne) {
  const Told told = Deny("version: 1", true);
  EXPECT_EQ(told.content_type, "application/problem+json");
  EXPECT_THAT(told.body, HasSubstr("#quota-exceeded"));
  EXPECT_THAT(told.body, HasSubstr(R"("violated-policies":["r1:)"));
}

TEST_F(DenialTest, IsWhatTheRuleSays) {
  const Told told = Deny(
      "denial: { status: 403, content_type: text/html, body: '<b>no</b>', headers: { X-A: b } }",
      true);
  EXPECT_EQ(told.status, 403);
  EXPECT_EQ(told.content_type, "text/html");
  EXPECT_EQ(told.body, "<b>no</b>");
  EXPECT_THAT(told.headers, ElementsAre(Pair("X-A", "b")));
}

TEST_F(DenialTest, PlacesAreFilledInAndOtherBracesStay) {
  const Told told = Deny(
      "denial: { body: '{\"r\":\"{rule}\",\"l\":{limit},\"w\":{window_seconds},"
      "\"a\":{retry_after_seconds},\"t\":\"{reset_at}\",\"x\":{x},{limit' }");
  EXPECT_EQ(told.body,
            R"({"r":"r1","l":1,"w":3600,"a":800,"t":"2030-03-17T18:00:00Z","x":{x},{limit)");
}

TEST_F(DenialTest, AStatusAloneKeepsTheUsualBody) {
  const Told told = Deny("denial: { status: 503 }");
  EXPECT_EQ(told.status, 503);
  EXPECT_THAT(told.body, HasSubstr("RATE_LIMIT_EXCEEDED"));
}

}  // namespace
}  // namespace sluice
