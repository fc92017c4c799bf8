#include <string>

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
  Heard Settle(const std::string& receipt, int cost) {
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
              HasSubstr(R"({"settled":true,"cost":25,"limits":[{"limit":100,"remaining":75,)"));
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
  host_.clock.Advance(std::chrono::hours(25));
  EXPECT_EQ(TextOf(Cancel(receipt).body, "code"), "INVALID_RECEIPT");
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
  host_.clock.Advance(std::chrono::seconds(50));
  EXPECT_EQ(Post(kBase + "renew", held).body, R"({"renewed":1})");
  host_.clock.Advance(std::chrono::seconds(50));
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
