// Checks that name quantities, and settlement by them.

#include <chrono>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"
#include "base/timestamp.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using testing::NumberOf;
using testing::TextOf;

const std::string kRoutes = "/api/v1/rate-limit/";

class QuantitiesTest : public testing::HttpTest {
 protected:
  Heard Use(std::string_view use, std::string_view attributes = R"("api_key":"a")") {
    return CheckBody(R"({"attributes":{)" + std::string(attributes) + R"(},"use":{)" +
                     std::string(use) + "}}");
  }
  std::string ReceiptOf(std::string_view use, std::string_view attributes = R"("api_key":"a")") {
    const Heard heard = Use(use, attributes);
    EXPECT_EQ(heard.status, 200) << heard.body;
    return TextOf(heard.body, "receipt");
  }
  Heard Settle(const std::string& receipt, std::string_view use, bool is_partial = false) {
    return Post(kRoutes + "settle", R"({"receipt":")" + receipt + R"(","use":{)" +
                                        std::string(use) +
                                        (is_partial ? R"(},"partial":true})" : "}}"));
  }
  Heard Cancel(const std::string& receipt) {
    return Post(kRoutes + "cancel", R"({"receipt":")" + receipt + R"("})");
  }
  Heard Extend(const std::string& receipt) {
    return Post(kRoutes + "extend", R"({"receipt":")" + receipt + R"("})");
  }
  /// What is left of a limit, which a look shows.
  std::int64_t Left(std::string_view limit, const std::string& query = "key=a") {
    const std::string body = Get(kRoutes + "remaining?" + query).body;
    const std::size_t at = body.find(R"("name":")" + std::string(limit) + "\"");
    EXPECT_NE(at, std::string::npos) << body;
    return at == std::string::npos ? -999 : NumberOf(body.substr(at), "remaining");
  }
};

constexpr std::string_view kLimits = R"(
quantities: [images]
rules:
  - id: llm
    algorithm: fixed_window
    limits:
      rpm: 10 per hour
      itpm: { limit: 1000 per hour, type: input_tokens }
      weighted: { limit: 1000 per hour, count: { input_tokens: 1, cached_tokens: 0.1, output_tokens: 6 } }
      parallel: { algorithm: concurrency, limit: 2 }
)";
constexpr std::string_view kSmall = R"("input_tokens":100,"cached_tokens":5,"output_tokens":20)";

TEST_F(QuantitiesTest, EachLimitCountsItsOwnQuantities) {
  Load(kLimits);
  const Heard heard = Use(kSmall);
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_NE(TextOf(heard.body, "receipt"), "");
  EXPECT_EQ(Left("rpm"), 9) << "a call is one request unless it says otherwise";
  EXPECT_EQ(Left("itpm"), 900);
  EXPECT_EQ(Left("weighted"), 779) << "100 + 0.5 + 120, and half a token is not left";
  EXPECT_EQ(Left("parallel"), 1);
  EXPECT_THAT(heard.body, HasSubstr(R"("limit":1000,"remaining":779,"cost":221)"));
}

TEST_F(QuantitiesTest, FractionsAddUpToWholeTokens) {
  Load(kLimits);
  for (int i = 0; i < 10; ++i) {
    Settle(ReceiptOf(R"("requests":0,"input_tokens":0,"cached_tokens":1,"output_tokens":0)"), "");
  }
  EXPECT_EQ(Left("weighted"), 999);
}

TEST_F(QuantitiesTest, AllOrNothing) {
  Load(kLimits);
  EXPECT_EQ(Use(R"("input_tokens":500,"cached_tokens":0,"output_tokens":0)").status, 200);
  EXPECT_EQ(Use(R"("input_tokens":300,"cached_tokens":0,"output_tokens":40)").status, 429);
  EXPECT_EQ(Left("rpm"), 9);
  EXPECT_EQ(Left("itpm"), 500);
  EXPECT_EQ(Left("parallel"), 1);
}

TEST_F(QuantitiesTest, UnknownAndMissingQuantitiesAreErrors) {
  Load(kLimits);
  const Heard unknown = Use(R"("input_tokens":1,"ouput_tokens":1)");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(TextOf(unknown.body, "code"), "UNKNOWN_QUANTITY");
  EXPECT_EQ(TextOf(unknown.body, "field"), "use.ouput_tokens");
  EXPECT_THAT(unknown.body, HasSubstr("known are cache_write_tokens, cached_tokens, images, "
                                      "input_tokens, output_tokens, requests"));
  const Heard missing = Use(R"("input_tokens":1,"output_tokens":1)");
  EXPECT_EQ(missing.status, 400);
  EXPECT_EQ(TextOf(missing.body, "code"), "MISSING_QUANTITY");
  EXPECT_EQ(TextOf(missing.body, "field"), "use.cached_tokens");
  EXPECT_EQ(Left("rpm"), 10) << "nothing was taken";
}

TEST_F(QuantitiesTest, AmountsAreWholeNumbersInRange) {
  Load(kLimits);
  for (const std::string_view bad : {"-1", "1.5", "1e99", "9007199254740993", "\"7\"", "null"}) {
    const Heard heard = Use(R"("input_tokens":)" + std::string(bad));
    EXPECT_EQ(heard.status, 400) << bad;
    EXPECT_EQ(TextOf(heard.body, "code"), "INVALID_FIELD") << bad;
    EXPECT_EQ(TextOf(heard.body, "field"), "use.input_tokens") << bad;
  }
  const Heard huge = Use(R"("input_tokens":1,"cached_tokens":0,"output_tokens":9007199254740992)");
  EXPECT_EQ(huge.status, 400);
  EXPECT_EQ(TextOf(huge.body, "code"), "INVALID_TOKEN_COST") << huge.body;
  EXPECT_EQ(TextOf(CheckBody(R"({"key":"a","cost":1,"use":{}})").body, "field"), "cost");
  EXPECT_EQ(TextOf(CheckBody(R"({"key":"a","use":[]})").body, "field"), "use");
  EXPECT_EQ(TextOf(Use(R"("requests":1,"requests":2)").body, "code"), "DUPLICATE_FIELD");
}

TEST_F(QuantitiesTest, AQuantityOfZeroTakesNothingButNeedsRoom) {
  Load(kLimits);
  const std::string_view none =
      R"("requests":0,"input_tokens":0,"cached_tokens":0,"output_tokens":0)";
  EXPECT_EQ(Use(none).status, 200);
  EXPECT_EQ(Left("itpm"), 1000);
  EXPECT_EQ(Use(R"("input_tokens":1000,"cached_tokens":0,"output_tokens":0)").status, 200);
  EXPECT_EQ(Use(none).status, 429) << "nothing is left";
}

TEST_F(QuantitiesTest, WhatWasNotReservedIsChargedLater) {
  Load(kLimits);
  const std::string receipt = ReceiptOf(R"("input_tokens":0,"cached_tokens":0,"output_tokens":0)");
  EXPECT_EQ(Settle(receipt, kSmall).status, 200);
  EXPECT_EQ(Left("itpm"), 900);
  EXPECT_EQ(Left("weighted"), 779);
}

TEST_F(QuantitiesTest, ChecksInABatchNameQuantitiesToo) {
  Load(kLimits);
  const Heard heard = CheckBody(
      R"({"checks":[{"key":"a","use":{"input_tokens":7,"cached_tokens":0,"output_tokens":1}},)"
      R"({"key":"a","use":{"input_tokens":7}},{"key":"b","cost":1}]})");
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_THAT(heard.body, HasSubstr("MISSING_QUANTITY"));
  EXPECT_EQ(Left("itpm"), 993);
  EXPECT_EQ(Left("itpm", "key=b"), 999);
}

// ---- Settlement

TEST_F(QuantitiesTest, ASettlementIsByQuantityAndReleasesTheSlot) {
  Load(kLimits);
  const std::string receipt = ReceiptOf(kSmall);
  const Heard heard = Settle(receipt, R"("output_tokens":50)");
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_THAT(heard.body, HasSubstr(R"("settled":true,"capped":false,"released":1)"));
  EXPECT_THAT(heard.body,
              HasSubstr(R"("settled":401,"capped":false,"rule":"llm","name":"weighted")"));
  EXPECT_EQ(Left("itpm"), 900) << "what is not named stays as reserved";
  EXPECT_EQ(Left("weighted"), 599) << "100 + 0.5 + 300";
  EXPECT_EQ(Left("rpm"), 9);
  EXPECT_EQ(Left("parallel"), 2);
}

TEST_F(QuantitiesTest, NothingIsGivenBackAfterASettlement) {
  Load(kLimits);
  const std::string receipt = ReceiptOf(kSmall);
  EXPECT_EQ(Settle(receipt, R"("output_tokens":50)").status, 200);
  EXPECT_EQ(Settle(receipt, R"("output_tokens":50)").status, 200) << "once";
  EXPECT_EQ(Settle(receipt, R"("output_tokens":0)").status, 409);
  EXPECT_EQ(Cancel(receipt).status, 409);
  EXPECT_EQ(Settle(receipt, R"("output_tokens":90)", true).status, 409);
  EXPECT_EQ(Left("weighted"), 599);
  EXPECT_EQ(Left("rpm"), 9) << "a request stays counted, although its settlement did not name it";
}

TEST_F(QuantitiesTest, ACancelledCallGivesEverythingBackOnce) {
  Load(kLimits);
  const std::string other = ReceiptOf(kSmall);
  const std::string receipt = ReceiptOf(kSmall);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Cancel(receipt).status, 200);
  EXPECT_EQ(Left("rpm"), 9);
  EXPECT_EQ(Left("itpm"), 900);
  EXPECT_EQ(Left("weighted"), 779);
  EXPECT_EQ(Left("parallel"), 1);
}

TEST_F(QuantitiesTest, QuantitiesAndCostsAreNotMixedUp) {
  Load(kLimits);
  const std::string receipt = ReceiptOf(kSmall);
  EXPECT_EQ(TextOf(Post(kRoutes + "settle", R"({"receipt":")" + receipt + R"(","cost":7})").body,
                   "field"),
            "cost");
  const std::string plain = TextOf(CheckBody(R"({"key":"a","cost":1})").body, "receipt");
  EXPECT_EQ(TextOf(Settle(plain, R"("output_tokens":7)").body, "field"), "use");
  const Heard unknown = Settle(receipt, R"("outputs":7)");
  EXPECT_EQ(TextOf(unknown.body, "code"), "UNKNOWN_QUANTITY");
  EXPECT_THAT(unknown.body, HasSubstr("cached_tokens"));
  EXPECT_EQ(Settle(receipt, R"("images":7)").status, 200) << "known, but counted by no limit";
}

TEST_F(QuantitiesTest, AStreamRaisesItsChargeAndIsToldToStop) {
  Load(R"(
rules:
  - { id: budget, type: output_tokens, algorithm: fixed_window, limit: 1000 per hour }
)");
  const std::string receipt = ReceiptOf(R"("output_tokens":200)");
  ReceiptOf(R"("output_tokens":700)", R"("api_key":"a")");
  const auto partial = [&](int tokens) {
    return Settle(receipt, R"("output_tokens":)" + std::to_string(tokens), true).body;
  };
  EXPECT_THAT(partial(150), HasSubstr(R"("settled":false,"capped":false,"stop":false)"));
  EXPECT_EQ(Left("output_tokens"), 100) << "what is reserved stays reserved";
  EXPECT_THAT(partial(250), HasSubstr(R"("stop":false)"));
  EXPECT_EQ(Left("output_tokens"), 50);
  EXPECT_THAT(partial(220), HasSubstr(R"("settled":250)")) << "out of order";
  EXPECT_EQ(Left("output_tokens"), 50);
  EXPECT_THAT(partial(300), HasSubstr(R"("stop":true)")) << "the next token would be too many";
  EXPECT_THAT(partial(320), HasSubstr(R"("stop":true)"));
  EXPECT_EQ(Settle(receipt, R"("output_tokens":260)").status, 200);
  EXPECT_EQ(Left("output_tokens"), 40);
}

TEST_F(QuantitiesTest, AStreamWithinItsReservationIsNotStopped) {
  Load(
      "rules: [{ id: budget, type: output_tokens, algorithm: fixed_window, limit: 100 per hour }]");
  const std::string receipt = ReceiptOf(R"("output_tokens":100)");
  EXPECT_THAT(Settle(receipt, R"("output_tokens":99)", true).body, HasSubstr(R"("stop":false)"));
  EXPECT_THAT(Settle(receipt, R"("output_tokens":100)", true).body, HasSubstr(R"("stop":true)"));
}

TEST_F(QuantitiesTest, AShadowLimitStopsNoStream) {
  Load(R"(
rules:
  - { id: budget, type: output_tokens, algorithm: fixed_window, limit: 100 per hour, shadow: true }
)");
  const std::string receipt = ReceiptOf(R"("output_tokens":100)");
  EXPECT_THAT(Settle(receipt, R"("output_tokens":100)", true).body, HasSubstr(R"("stop":false)"));
}

TEST_F(QuantitiesTest, AReceiptCanNotBeUsedForAnotherKeyNorForged) {
  Load(kLimits);
  std::string receipt = ReceiptOf(kSmall);
  receipt[receipt.size() / 2] ^= 1;
  EXPECT_EQ(TextOf(Settle(receipt, "").body, "code"), "INVALID_RECEIPT");
  EXPECT_EQ(TextOf(Extend(receipt).body, "code"), "INVALID_RECEIPT");
}

// ---- Long streams

TEST_F(QuantitiesTest, AnExtendedCallKeepsItsSlotAndItsReservation) {
  Load(kLimits);
  std::string receipt = ReceiptOf(kSmall);
  ReceiptOf(kSmall);
  for (int passed = 0; passed < 3 * 3600; passed += 50) {
    services_.clock.Advance(std::chrono::seconds(50));
    const Heard heard = Extend(receipt);
    ASSERT_EQ(heard.status, 200) << heard.body;
    ASSERT_EQ(NumberOf(heard.body, "renewed"), 1);
    receipt = TextOf(heard.body, "receipt");
  }
  EXPECT_EQ(Left("parallel"), 1) << "the other call's slot has expired";
  const Heard settled = Settle(receipt, "");
  EXPECT_EQ(settled.status, 200) << settled.body;
  EXPECT_EQ(Left("parallel"), 2);
}

constexpr std::string_view kBucket = R"(
rules:
  - { id: bucket, type: output_tokens, capacity: 1000, refill_rate: 1 per day }
)";

TEST_F(QuantitiesTest, ExtendingTwiceGivesTheSameReceiptAndOneSettlement) {
  Load(kBucket);
  const std::string old = ReceiptOf(R"("output_tokens":200)");
  EXPECT_EQ(Settle(old, R"("output_tokens":300)", true).status, 200);
  EXPECT_EQ(TextOf(Extend(old).body, "receipt"), old) << "it is young";
  services_.clock.Advance(std::chrono::minutes(40));
  const std::string extended = TextOf(Extend(old).body, "receipt");
  EXPECT_NE(extended, old);
  EXPECT_EQ(TextOf(Extend(old).body, "receipt"), extended) << "a lost answer is repeated";
  EXPECT_EQ(Left("output_tokens"), 700);
  const Heard refused = Settle(old, R"("output_tokens":0)");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(refused.body, HasSubstr("was extended"));
  EXPECT_EQ(Cancel(old).status, 409);
  services_.clock.Advance(std::chrono::minutes(60));
  EXPECT_EQ(Settle(extended, R"("output_tokens":250)").status, 200);
  EXPECT_EQ(Settle(extended, R"("output_tokens":250)").status, 200);
  EXPECT_EQ(Left("output_tokens"), 750);
  EXPECT_EQ(Cancel(extended).status, 409);
}

TEST_F(QuantitiesTest, ASettledReceiptCanNotBeExtended) {
  Load(kBucket);
  const std::string receipt = ReceiptOf(R"("output_tokens":200)");
  EXPECT_EQ(Settle(receipt, R"("output_tokens":100)").status, 200);
  services_.clock.Advance(std::chrono::minutes(40));
  EXPECT_EQ(Extend(receipt).status, 409);
  EXPECT_EQ(Left("output_tokens"), 900);
}

// ---- Money

constexpr std::string_view kMoney = R"(
models:
  gpt-5: { input: 1.25, cached: 0.125, output: 10 }
  gpt-5-2025-08-07: gpt-5
  "claude-*": { input: 3, cached: 0.3, cache_write: 3.75, output: 15 }
  gemini-pro: { input: 1.25, output: 10, above: { 200_000: { input: 2.5, output: 15 } } }
rules:
  - { id: budget, per: [tenant], limits: { daily: 0.01 USD per day, monthly: 0.1 USD per month } }
)";
constexpr std::string_view kGpt = R"("tenant":"t","model":"gpt-5")";

TEST_F(QuantitiesTest, MoneyIsCountedToTheNanoDollar) {
  Load(kMoney);
  const std::string receipt =
      ReceiptOf(R"("input_tokens":1000,"cached_tokens":8,"output_tokens":100)", kGpt);
  EXPECT_EQ(Left("daily", "tenant=t"), 10'000'000 - 1000 * 1250 - 8 * 125 - 100 * 10'000);
  EXPECT_EQ(Settle(receipt, R"("output_tokens":7)").status, 200);
  EXPECT_EQ(Left("daily", "tenant=t"), 10'000'000 - 1000 * 1250 - 8 * 125 - 7 * 10'000);
  EXPECT_EQ(Left("monthly", "tenant=t"), 100'000'000 - 1000 * 1250 - 8 * 125 - 7 * 10'000);
}

TEST_F(QuantitiesTest, ModelsAreFoundByAliasAndPattern) {
  Load(kMoney);
  const std::string_view use = R"("input_tokens":1,"cached_tokens":0,"output_tokens":0)";
  Use(use, R"("tenant":"t","model":"gpt-5-2025-08-07")");
  EXPECT_EQ(Left("daily", "tenant=t"), 10'000'000 - 1250);
  Use(R"("input_tokens":1,"cached_tokens":0,"cache_write_tokens":2,"output_tokens":0)",
      R"("tenant":"u","model":"claude-opus")");
  EXPECT_EQ(Left("daily", "tenant=u"), 10'000'000 - 3000 - 2 * 3750);
}

TEST_F(QuantitiesTest, NothingIsFreeForWantOfAPrice) {
  Load(kMoney);
  const std::string_view use = R"("input_tokens":1,"cached_tokens":0,"output_tokens":1)";
  for (const std::string_view who : {R"("tenant":"t","model":"gpt-6")", R"("tenant":"t")"}) {
    const Heard heard = Use(use, who);
    EXPECT_EQ(heard.status, 400) << heard.body;
    EXPECT_EQ(TextOf(heard.body, "code"), "NO_PRICE");
  }
  const Heard unpriced =
      Use(R"("input_tokens":1,"cached_tokens":0,"cache_write_tokens":1,"output_tokens":1)", kGpt);
  EXPECT_EQ(TextOf(unpriced.body, "code"), "NO_PRICE");
  EXPECT_EQ(TextOf(unpriced.body, "field"), "use.cache_write_tokens");
  const Heard plain = CheckBody(R"({"attributes":{"tenant":"t","model":"gpt-5"}})");
  EXPECT_EQ(plain.status, 400) << "a check that does not say what it uses";
  EXPECT_EQ(TextOf(plain.body, "code"), "MISSING_QUANTITY");
  EXPECT_EQ(Left("daily", "tenant=t"), 10'000'000);
}

TEST_F(QuantitiesTest, PricesChangeWithTheLengthOfTheContext) {
  Load(kMoney);
  const std::string_view who = R"("tenant":"t","model":"gemini-pro")";
  const std::string at_break =
      ReceiptOf(R"("input_tokens":0,"cached_tokens":0,"output_tokens":0)", who);
  EXPECT_EQ(Settle(at_break, R"("input_tokens":1000)").status, 200);
  EXPECT_EQ(Left("daily", "tenant=t"), 10'000'000 - 1'250'000);
  const std::string above =
      ReceiptOf(R"("input_tokens":0,"cached_tokens":0,"output_tokens":0)", who);
  // Cached tokens have no price of their own: they cost as much as others of the prompt.
  EXPECT_EQ(Settle(above, R"("input_tokens":1,"cached_tokens":200000)").status, 200);
  EXPECT_EQ(Left("monthly", "tenant=t"), 0) << "200001 tokens at 2500";
}

TEST_F(QuantitiesTest, AReceiptIsSettledAtItsOwnPrices) {
  Load(kMoney);
  const std::string receipt =
      ReceiptOf(R"("input_tokens":0,"cached_tokens":0,"output_tokens":100)", kGpt);
  std::string dearer(kMoney);
  dearer.replace(dearer.find("output: 10 }"), 12, "output: 99 }");
  Load(dearer);
  EXPECT_EQ(Settle(receipt, R"("output_tokens":10)").status, 200);
  EXPECT_EQ(Left("daily", "tenant=t"), 10'000'000 - 10 * 10'000);
}

TEST_F(QuantitiesTest, BudgetsBeginAnewWithTheCalendar) {
  Load(kMoney);
  const std::string_view all = R"("input_tokens":0,"cached_tokens":0,"output_tokens":1000)";
  // A leap day, then the last moment of a month, then its first.
  for (const std::string_view time :
       {"2028-02-28T12:00:00Z", "2028-02-29T00:00:00Z", "2028-02-29T23:59:59Z",
        "2028-03-01T00:00:00Z", "2028-12-31T23:59:59Z", "2029-01-01T00:00:00Z"}) {
    const bool is_second = time == "2028-02-29T23:59:59Z";
    services_.clock.Set(*ParseTimestamp(std::string(time)));
    EXPECT_EQ(Use(all, kGpt).status, is_second ? 429 : 200) << time;
    EXPECT_EQ(Left("daily", "tenant=t"), 0) << time;
    const bool is_second_day = time.starts_with("2028-02-29");
    EXPECT_EQ(Left("monthly", "tenant=t"), is_second_day ? 80'000'000 : 90'000'000) << time;
  }
}

TEST_F(QuantitiesTest, ASettlementAfterTheEndOfTheDayChangesNoOtherDay) {
  Load(kMoney);
  services_.clock.Set(*ParseTimestamp("2028-02-29T23:59:30Z"));
  const std::string receipt =
      ReceiptOf(R"("input_tokens":0,"cached_tokens":0,"output_tokens":1000)", kGpt);
  services_.clock.Set(*ParseTimestamp("2028-03-01T00:00:30Z"));
  ReceiptOf(R"("input_tokens":0,"cached_tokens":0,"output_tokens":400)", kGpt);
  EXPECT_EQ(Settle(receipt, R"("output_tokens":0)").status, 200);
  EXPECT_EQ(Left("daily", "tenant=t"), 6'000'000);
  EXPECT_EQ(Left("monthly", "tenant=t"), 96'000'000);
}

}  // namespace
}  // namespace sluice::api
