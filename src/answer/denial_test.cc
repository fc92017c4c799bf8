#include "answer/denial.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "limiter/limiter.h"
#include "match/load_rules.h"
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
  struct DenialResponse {
    int status;
    std::string content_type;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
  };

  // What a caller gets that exceeds this rule's limit of one in an hour.
  DenialResponse Deny(std::string_view rule, bool wants_problem = false) {
    const std::string yaml = "rules: [{ id: r1, algorithm: fixed_window, limit: 1, window: 1h, " +
                             std::string(rule) + " }]";
    EXPECT_EQ(LoadRules(live_, "rules.yaml", yaml, kStart).outcome, LoadOutcome::kActivated);
    for (int i = 0; i < 2; ++i) {
      check_.Clear();
      check_.Add("api_key", "a");
      limiter_.Decide(check_, kStart);
    }
    const HttpAnswer answer = AnswerTo(check_);
    const Denial denial(check_, answer, wants_problem);
    Headers headers;
    denial.AddHeaders(headers);
    DenialResponse response{denial.status(), std::string(denial.content_type()), {}, headers.lines};
    denial.AppendBody(kStart, response.body);
    return response;
  }

  store::testing::ModelStore store_;
  Live<match::RuleSet> live_;
  LiveReader<match::RuleSet> reader_{live_};
  limiter::Settings settings_;
  limiter::Limiter limiter_{store_, nullptr, reader_, settings_};
  limiter::CheckRequest check_;
};

TEST_F(DenialTest, IsJsonUnlessTheRuleSaysOtherwise) {
  const DenialResponse response = Deny("version: 1");
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.content_type, "application/json");
  EXPECT_THAT(response.body, HasSubstr(R"({"error":{"code":"RATE_LIMIT_EXCEEDED","message":)"));
  EXPECT_THAT(response.body, HasSubstr(R"("details":{"limit":1,"window_seconds":3600,)"));
  EXPECT_THAT(response.headers, IsEmpty());
}

TEST_F(DenialTest, IsAProblemForThoseWhoPreferOne) {
  const DenialResponse response = Deny("version: 1", true);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_THAT(response.body, HasSubstr("#quota-exceeded"));
  EXPECT_THAT(response.body, HasSubstr(R"("violated-policies":["r1:)"));
}

TEST_F(DenialTest, IsWhatTheRuleSays) {
  const DenialResponse response = Deny(
      "denial: { status: 403, content_type: text/html, body: '<b>no</b>', headers: { X-A: b } }",
      true);
  EXPECT_EQ(response.status, 403);
  EXPECT_EQ(response.content_type, "text/html");
  EXPECT_EQ(response.body, "<b>no</b>");
  EXPECT_THAT(response.headers, ElementsAre(Pair("X-A", "b")));
}

TEST_F(DenialTest, PlacesAreFilledInAndOtherBracesStay) {
  const DenialResponse response = Deny(
      "denial: { body: '{\"r\":\"{rule}\",\"l\":{limit},\"w\":{window_seconds},"
      "\"a\":{retry_after_seconds},\"t\":\"{reset_at}\",\"x\":{x},{limit' }");
  EXPECT_EQ(response.body,
            R"({"r":"r1","l":1,"w":3600,"a":800,"t":"2030-03-17T18:00:00Z","x":{x},{limit)");
}

TEST_F(DenialTest, AStatusAloneKeepsTheUsualBody) {
  const DenialResponse response = Deny("denial: { status: 503 }");
  EXPECT_EQ(response.status, 503);
  EXPECT_THAT(response.body, HasSubstr("RATE_LIMIT_EXCEEDED"));
}

}  // namespace
}  // namespace sluice
