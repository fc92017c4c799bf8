#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/http_server.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using testing::Heard;
using testing::NumberOf;
using testing::TextOf;

const std::string kBase = "/api/v1/rate-limit/";

class SettlementTest : public testing::HttpTest {
 protected:
  std::string ReceiptOf(std::string_view body) {
    const Heard heard = CheckBody(body);
    EXPECT_EQ(heard.status, 200) << heard.body;
    return TextOf(heard.body, "receipt");
  }
  Heard Settle(const std::string& receipt, std::int64_t cost) {
    return Post(kBase + "settle",
                R"({"receipt":")" + receipt + R"(","cost":)" + std::to_string(cost) + "}");
  }
  Heard Cancel(const std::string& receipt) {
    return Post(kBase + "cancel", R"({"receipt":")" + receipt + R"("})");
  }
  std::int64_t Remaining(const std::string& query) {
    return NumberOf(Get(kBase + "remaining?" + query).body, "remaining");
  }
};

constexpr std::string_view kTokens = R"(
rules:
  - id: llm
    limits:
      - { name: rpm, algorithm: fixed_window, limit: 1000, window: 60 }
      - { name: tpm, type: tokens, algorithm: fixed_window, limit: 100, window: 60 }
)";

TEST_F(SettlementTest, TheRealCostTakesThePlaceOfTheEstimate) {
  Load(kTokens);
  const std::string receipt = ReceiptOf(R"({"attributes":{"api_key":"a","tokens":60}})");
  EXPECT_EQ(Remaining("key=a"), 40);
  const Heard heard = Settle(receipt, 25);
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_THAT(heard.body,
              HasSubstr(R"({"settled":true,"cost":25,"capped":false,"limits":[{"limit":100,)"));
  EXPECT_EQ(Remaining("key=a"), 75) << "and requests are left alone";
}

TEST_F(SettlementTest, MoreThanThereIsIsChargedBelowZero) {
  Load(kTokens);
  const std::string receipt = ReceiptOf(R"({"attributes":{"api_key":"a","tokens":60}})");
  EXPECT_EQ(Settle(receipt, 250).status, 200);
  EXPECT_EQ(Check("key=a&tokens=1").status, 429);
}

TEST_F(SettlementTest, ACancelledCallTookNothing) {
  Load(R"(
rules:
  - id: api
    limits:
      - { name: rate, algorithm: fixed_window, limit: 10, window: 60 }
      - { name: parallel, algorithm: concurrency, limit: 1 }
)");
  const std::string receipt = ReceiptOf(R"({"key":"a"})");
  EXPECT_EQ(CheckBody(R"({"key":"a"})").status, 429);
  const Heard heard = Cancel(receipt);
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_THAT(heard.body, HasSubstr(R"("cancelled":true)"));
  const Heard again = CheckBody(R"({"key":"a"})");
  EXPECT_EQ(again.status, 200);
  EXPECT_THAT(again.body, HasSubstr(R"("remaining":9)"));
}

TEST_F(SettlementTest, LimitsOfRequestsAndDescriptorsSettleToo) {
  const std::string descriptors =
      R"({"descriptors":[{"key":"a","limit":10},{"key":"a","limit":100,"type":"tokens","cost":50}]})";
  Settle(ReceiptOf(descriptors), 10);
  const Heard heard = CheckBody(descriptors);
  EXPECT_THAT(heard.body, HasSubstr(R"("limit":10,"allowed":true,"current":2)"));
  EXPECT_THAT(heard.body, HasSubstr(R"("limit":100,"allowed":true,"current":60)"));
  const std::string own =
      R"({"key":"a","cost":5,"limit":{"algorithm":"fixed_window","limit":10,"window":60}})";
  Cancel(ReceiptOf(own));
  EXPECT_EQ(NumberOf(CheckBody(own).body, "remaining"), 5);
}

TEST_F(SettlementTest, AReceiptMayBeAskedForInAQuery) {
  const std::string receipt =
      TextOf(Check("key=a&algorithm=FIXED_WINDOW&permits=9&receipt=true").body, "receipt");
  EXPECT_EQ(Settle(receipt, 1).status, 200);
  EXPECT_EQ(Remaining("key=a&algorithm=FIXED_WINDOW"), 99);
}

TEST_F(SettlementTest, WhatIsNoReceiptIsRefused) {
  EXPECT_EQ(TextOf(Settle("AAAA", 1).body, "code"), "INVALID_RECEIPT");
  EXPECT_EQ(TextOf(Cancel("").body, "code"), "INVALID_RECEIPT");
  EXPECT_EQ(TextOf(Post(kBase + "settle", R"({"cost":1})").body, "field"), "receipt");
  EXPECT_EQ(TextOf(Post(kBase + "settle", R"({"receipt":"x"})").body, "field"), "cost");
  EXPECT_EQ(TextOf(Post(kBase + "settle", R"({"receipt":"x","cost":-1})").body, "code"),
            "INVALID_TOKEN_COST");
  EXPECT_EQ(TextOf(Post(kBase + "cancel", R"({"receipt":"x","cost":1})").body, "code"),
            "UNKNOWN_FIELD");
  Load(testing::kThreeAMinute);
  const std::string receipt = ReceiptOf(R"({"key":"a"})");
  services_.clock.Advance(std::chrono::hours(1) + Micros{1});
  EXPECT_EQ(TextOf(Cancel(receipt).body, "code"), "INVALID_RECEIPT");
}

// ---- Once per receipt.

constexpr std::string_view kTenAnHour =
    "rules: [{ id: api, algorithm: token_bucket, capacity: 10, refill_rate: 10 per hour }]";

TEST_F(SettlementTest, AReceiptCancelledTwentyTimesIsOneRefund) {
  Load(kTenAnHour);
  const std::string receipt = ReceiptOf(R"({"key":"a"})");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Check("key=a").status, 200);
  const Heard first = Cancel(receipt);
  for (int i = 0; i < 20; ++i) {
    const Heard again = Cancel(receipt);
    EXPECT_EQ(again.status, 200) << again.body;
    EXPECT_EQ(again.body, first.body);
  }
  EXPECT_EQ(Remaining("key=a"), 6);
}

TEST_F(SettlementTest, LimitsOfRequestsAreGivenBackOnceToo) {
  const std::string descriptors =
      R"({"descriptors":[{"key":"a","limit":10},{"key":"a","limit":10}]})";
  const std::string receipt = ReceiptOf(descriptors);
  EXPECT_EQ(CheckBody(descriptors).status, 200);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Cancel(receipt).status, 200);
  EXPECT_THAT(CheckBody(descriptors).body, HasSubstr(R"("current":4)"))
      << "both limits are one budget, and of each the receipt gave back one";
}

TEST_F(SettlementTest, TheFirstSettlementStandsAndOthersAreAnsweredSo) {
  Load(kTokens);
  const std::string receipt = ReceiptOf(R"({"attributes":{"api_key":"a","tokens":60}})");
  const Heard first = Settle(receipt, 25);
  EXPECT_EQ(Settle(receipt, 25).body, first.body) << "a retry gets the same answer";
  const Heard other = Settle(receipt, 30);
  EXPECT_EQ(other.status, 409);
  EXPECT_EQ(other.Header("Content-Type"), "application/problem+json");
  EXPECT_EQ(TextOf(other.body, "code"), "ALREADY_SETTLED");
  EXPECT_EQ(NumberOf(other.body, "settled"), 25);
  EXPECT_EQ(Remaining("key=a"), 75);
  const Heard cancelled = Cancel(receipt);
  EXPECT_EQ(TextOf(cancelled.body, "code"), "ALREADY_SETTLED");
  EXPECT_EQ(Remaining("key=a"), 75);
}

TEST_F(SettlementTest, ASettlementAfterACancellationIsRefused) {
  Load(kTenAnHour);
  const std::string receipt = ReceiptOf(R"({"key":"a"})");
  EXPECT_EQ(Cancel(receipt).status, 200);
  const Heard settled = Settle(receipt, 5);
  EXPECT_EQ(TextOf(settled.body, "code"), "ALREADY_SETTLED");
  EXPECT_EQ(NumberOf(settled.body, "settled"), 0);
  EXPECT_EQ(Remaining("key=a"), 10);
}

TEST_F(SettlementTest, AKeyThatRemembersTooManyReceiptsGivesNothingBack) {
  options_.receipts.max_settled_per_key = 2;
  Load(kTenAnHour);
  std::vector<std::string> receipts;
  for (int i = 0; i < 3; ++i) receipts.push_back(ReceiptOf(R"({"key":"a"})"));
  EXPECT_EQ(Cancel(receipts[0]).status, 200);
  EXPECT_EQ(Cancel(receipts[1]).status, 200);
  const Heard refused = Cancel(receipts[2]);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(TextOf(refused.body, "code"), "TOO_MANY_SETTLEMENTS");
  EXPECT_EQ(Remaining("key=a"), 9);
  EXPECT_EQ(Cancel(receipts[0]).status, 200) << "what is remembered is answered";
  services_.clock.Advance(std::chrono::hours(1) + std::chrono::minutes(1));
  EXPECT_EQ(Cancel(ReceiptOf(R"({"key":"a"})")).status, 200) << "what expired makes room";
}

TEST_F(SettlementTest, WhatCanNoLongerBeChangedIsNotRemembered) {
  options_.receipts.max_settled_per_key = 1;
  Load(testing::kThreeAMinute);
  EXPECT_EQ(Cancel(ReceiptOf(R"({"key":"a"})")).status, 200);
  EXPECT_EQ(Cancel(ReceiptOf(R"({"key":"a"})")).status, 503);
  services_.clock.Advance(std::chrono::minutes(2));
  EXPECT_EQ(Cancel(ReceiptOf(R"({"key":"a"})")).status, 200) << "the window is over";
}

TEST_F(SettlementTest, TheLifetimeOfAReceiptIsASetting) {
  options_.receipts.lifetime = std::chrono::minutes(5);
  Load(kTenAnHour);
  const std::string receipt = ReceiptOf(R"({"key":"a"})");
  services_.clock.Advance(std::chrono::minutes(5));
  EXPECT_EQ(Settle(receipt, 2).status, 200);
  services_.clock.Advance(Micros{1});
  EXPECT_EQ(TextOf(Settle(receipt, 2).body, "code"), "INVALID_RECEIPT");
}

// ---- The most that is charged.

TEST_F(SettlementTest, ASettlementTakesAtMostFourTimesWhatTheLimitHolds) {
  Load(kTenAnHour);
  const std::string receipt = ReceiptOf(R"({"key":"a"})");
  const Heard heard = Settle(receipt, kMaxAmount);
  EXPECT_EQ(heard.status, 200) << heard.body;
  EXPECT_THAT(heard.body, HasSubstr(R"("cost":9007199254740992,"capped":true,)"));
  EXPECT_THAT(heard.body, HasSubstr(R"("settled":40,"capped":true)"));
  EXPECT_EQ(Settle(receipt, kMaxAmount).body, heard.body);
  EXPECT_EQ(Check("key=a").status, 429);
  services_.clock.Advance(std::chrono::hours(4));
  EXPECT_EQ(Check("key=a").status, 200) << "and not locked out for centuries";
}

TEST_F(SettlementTest, ARuleSaysHowMuchASettlementTakesAtMost) {
  Load(R"(
defaults: { max_settlement: 15 }
rules:
  - { id: a, match: { api_key: a }, capacity: 10, refill_rate: 10 per hour, max_settlement: 12 }
  - { id: b, capacity: 10, refill_rate: 10 per hour }
)");
  EXPECT_THAT(Settle(ReceiptOf(R"({"key":"a"})"), 14).body,
              HasSubstr(R"("settled":12,"capped":true)"));
  EXPECT_THAT(Settle(ReceiptOf(R"({"key":"b"})"), 14).body,
              HasSubstr(R"("settled":14,"capped":false)"));
  EXPECT_THAT(Settle(ReceiptOf(R"({"key":"c"})"), 16).body,
              HasSubstr(R"("settled":15,"capped":true)"));
}

TEST_F(SettlementTest, ABoundBelowWhatWasTakenGivesNothingBack) {
  Load("rules: [{ id: a, capacity: 10, refill_rate: 10 per hour, max_settlement: 2 }]");
  EXPECT_THAT(Settle(ReceiptOf(R"({"key":"a","cost":5})"), 7).body,
              HasSubstr(R"("settled":5,"capped":true)"));
  EXPECT_EQ(Remaining("key=a"), 5);
}

TEST_F(SettlementTest, ASlotReleasedTwentyTimesFreesNoOther) {
  const std::string own =
      R"({"key":"a","limit":{"algorithm":"concurrency","limit":3,"time_to_live":86400}})";
  const std::string receipt =
      R"({"receipt":")" + TextOf(Post(kBase + "acquire", own).body, "receipt") + R"("})";
  EXPECT_EQ(Post(kBase + "acquire", own).status, 200);
  EXPECT_EQ(Post(kBase + "acquire", own).status, 200);
  services_.clock.Advance(std::chrono::hours(2));
  EXPECT_EQ(Post(kBase + "release", receipt).body, R"({"released":1})")
      << "for slots a receipt is good as long as they are held";
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Post(kBase + "release", receipt).body, R"({"released":0})");
  }
  EXPECT_EQ(Post(kBase + "acquire", own).status, 200);
  EXPECT_EQ(Post(kBase + "acquire", own).status, 429);
}

TEST_F(SettlementTest, SlotsAreTakenRenewedAndGivenBack) {
  Load("rules: [{ id: parallel, algorithm: concurrency, limit: 1 }]");
  const std::string who = R"({"attributes":{"api_key":"a"})";
  const Heard taken = Post(kBase + "acquire", who + "}");
  EXPECT_EQ(taken.status, 200);
  const std::string slot = TextOf(taken.body, "slot");
  ASSERT_NE(slot, "");
  EXPECT_EQ(Post(kBase + "acquire", who + "}").status, 429);
  const std::string held = who + R"(,"slot":")" + slot + R"("})";
  services_.clock.Advance(std::chrono::seconds(50));
  EXPECT_EQ(Post(kBase + "renew", held).body, R"({"renewed":1})");
  services_.clock.Advance(std::chrono::seconds(50));
  EXPECT_EQ(Post(kBase + "acquire", who + "}").status, 429) << "it was renewed";
  EXPECT_EQ(Post(kBase + "release", held).body, R"({"released":1})");
  EXPECT_EQ(Post(kBase + "release", held).body, R"({"released":0})");
  EXPECT_EQ(TextOf(Post(kBase + "renew", held).body, "code"), "SLOT_NOT_HELD");
  EXPECT_EQ(Post(kBase + "acquire", held).status, 200) << "a slot may be chosen by the client";
}

TEST_F(SettlementTest, ASlotIsGivenBackWithItsReceiptAlone) {
  const std::string own =
      R"({"key":"a","limit":{"algorithm":"concurrency","limit":1,"time_to_live":10}})";
  const Heard taken = Post(kBase + "acquire", own);
  EXPECT_EQ(taken.status, 200) << taken.body;
  const std::string receipt = R"({"receipt":")" + TextOf(taken.body, "receipt") + R"("})";
  EXPECT_EQ(Post(kBase + "renew", receipt).body, R"({"renewed":1})");
  EXPECT_EQ(Post(kBase + "release", receipt).body, R"({"released":1})");
  EXPECT_EQ(Post(kBase + "acquire", own).status, 200);
  EXPECT_EQ(TextOf(Post(kBase + "release", R"({"receipt":"x"})").body, "code"), "INVALID_RECEIPT");
  EXPECT_EQ(TextOf(Post(kBase + "release", R"({"key":"a"})").body, "field"), "slot");
  EXPECT_EQ(TextOf(Post(kBase + "release", R"({"key":"a","slot":"x"})").body, "field"), "slot");
}

}  // namespace
}  // namespace sluice::api
