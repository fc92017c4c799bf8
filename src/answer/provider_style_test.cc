#include "answer/provider_style.h"

#include <map>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/denial.h"
#include "limiter/limiter.h"
#include "match/load_rules.h"
#include "store/testing/model_store.h"

namespace sluice {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// 2030-03-17T17:46:40Z
constexpr WallTime kDecided{std::chrono::seconds(1'900'000'000)};

struct HeaderMap final : HeaderSink {
  HeaderMap& Add(std::string_view name, std::string_view value) override {
    lines.emplace(name, value);
    return *this;
  }
  HeaderMap& Add(std::string_view name, std::int64_t value) override {
    return Add(name, std::to_string(value));
  }
  std::map<std::string, std::string> lines;
};

constexpr std::string_view kProviderRules = R"(
models: { gpt-5: { input: 1, output: 10 } }
rules:
  - id: llm
    algorithm: fixed_window
    limits:
      rpm: 100 per minute
      rph: 5 per hour
      itpm: { limit: 1000 per minute, type: input_tokens }
      otpm: { limit: 500 per minute, type: output_tokens }
      sum: { limit: 2000 per minute, count: { input_tokens: 1, output_tokens: 2 } }
      parallel: { algorithm: concurrency, limit: 2 }
      money: 0.01 USD per day
)";

class ProviderStyleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LoadRules(live_, "rules.yaml", kProviderRules, kDecided).outcome,
              LoadOutcome::kActivated);
  }
  void Decide(std::int64_t input, std::int64_t output) {
    check_.Clear();
    check_.Add("api_key", "a");
    check_.Add("model", "gpt-5");
    check_.AddQuantity("input_tokens", input);
    check_.AddQuantity("output_tokens", output);
    limiter_.Decide(check_, kDecided);
  }
  std::map<std::string, std::string> Headers(HeaderStyle style) {
    HeaderMap headers;
    AddRateLimitHeaders(check_, kDecided, style, Micros{0}, headers);
    return headers.lines;
  }
  std::string Body(HeaderStyle style) {
    const HttpAnswer answer = AnswerTo(check_);
    std::string body;
    Denial(check_, answer, false, "id-1", style).AppendBody(kDecided, body);
    return body;
  }

  store::testing::ModelStore store_;
  Live<match::RuleSet> live_;
  LiveReader<match::RuleSet> reader_{live_};
  limiter::Settings settings_;
  limiter::Limiter limiter_{store_, nullptr, reader_, settings_};
  limiter::CheckRequest check_;
};

TEST_F(ProviderStyleTest, OpenAiHasTheTightestLimitOfRequestsAndOfTokens) {
  Decide(100, 50);
  EXPECT_THAT(
      Headers(HeaderStyle::kOpenAi),
      UnorderedElementsAre(
          Pair("x-ratelimit-limit-requests", "5"), Pair("x-ratelimit-remaining-requests", "4"),
          Pair("x-ratelimit-reset-requests", "13m20s"), Pair("x-ratelimit-limit-tokens", "500"),
          Pair("x-ratelimit-remaining-tokens", "450"), Pair("x-ratelimit-reset-tokens", "20s")));
}

TEST_F(ProviderStyleTest, AnthropicTellsKindsOfTokensApart) {
  Decide(100, 50);
  const auto headers = Headers(HeaderStyle::kAnthropic);
  EXPECT_EQ(headers.size(), 12U);
  EXPECT_EQ(headers.at("anthropic-ratelimit-requests-remaining"), "4");
  EXPECT_EQ(headers.at("anthropic-ratelimit-requests-reset"), "2030-03-17T18:00:00Z");
  EXPECT_EQ(headers.at("anthropic-ratelimit-tokens-remaining"), "1800");
  EXPECT_EQ(headers.at("anthropic-ratelimit-input-tokens-limit"), "1000");
  EXPECT_EQ(headers.at("anthropic-ratelimit-input-tokens-remaining"), "900");
  EXPECT_EQ(headers.at("anthropic-ratelimit-output-tokens-remaining"), "450");
  EXPECT_EQ(headers.at("anthropic-ratelimit-output-tokens-reset"), "2030-03-17T17:47:00Z");
}

TEST_F(ProviderStyleTest, DenialsHaveTheErrorsThatClientsOfTheProviderKnow) {
  Decide(0, 450);
  Decide(0, 100);
  EXPECT_EQ(Headers(HeaderStyle::kOpenAi).at("Retry-After"), "20");
  EXPECT_EQ(Body(HeaderStyle::kOpenAi),
            R"({"error":{"type":"rate_limit_exceeded",)"
            R"("message":"Rate limit of 500 output_tokens per 60 seconds exceeded",)"
            R"("param":null,"code":"rate_limit_exceeded","denial_id":"id-1"}})");
  EXPECT_EQ(Body(HeaderStyle::kAnthropic),
            R"({"type":"error","error":{"type":"rate_limit_error",)"
            R"("message":"Rate limit of 500 output_tokens per 60 seconds exceeded",)"
            R"("denial_id":"id-1"}})");
}

TEST_F(ProviderStyleTest, AnExhaustedBudgetIsAnInsufficientQuota) {
  // 0.0045 USD, twice; the third does not fit.
  for (const int seconds : {0, 60, 120}) {
    check_.Clear();
    check_.Add("api_key", "a");
    check_.Add("model", "gpt-5");
    check_.AddQuantity("input_tokens", 0);
    check_.AddQuantity("output_tokens", 450);
    limiter_.Decide(check_, kDecided + std::chrono::seconds(seconds));
  }
  const std::string body = Body(HeaderStyle::kOpenAi);
  EXPECT_THAT(body, ::testing::HasSubstr(R"("type":"insufficient_quota")"));
  EXPECT_THAT(body, ::testing::HasSubstr("Budget of 0.01 USD per 86400 seconds exceeded"));
}

}  // namespace
}  // namespace sluice
