#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/loop.h"
#include "api/resp/session.h"
#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kReserveRules = R"(
models: { gpt-5: { input: 1.25, cached: 0.125, output: 10 } }
rules:
  - id: llm
    algorithm: fixed_window
    limits:
      rpm: 10 per hour
      otpm: { limit: 1000 per hour, type: output_tokens }
      parallel: { algorithm: concurrency, limit: 2, ttl: 1h }
  - { id: money, per: [], limits: { daily: 1 USD per day } }
)";

class ReserveCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(LoadRules(services_.rules(), "rules.yaml", kReserveRules, services_.now()).outcome,
              LoadOutcome::kActivated);
  }
  std::string Send(std::string_view line) {
    session_.Receive(std::string(line) + "\r\n");
    return std::exchange(session_.output(), {});
  }
  std::string Reserve(std::string_view use) {
    return Send("SLUICE.RESERVE api_key a model gpt-5 USE " + std::string(use));
  }
  std::string ReceiptOf(std::string_view use) { return LastText(Reserve(use)); }
  /// The last bulk string of a reply.
  static std::string LastText(std::string_view reply) {
    EXPECT_THAT(std::string(reply), StartsWith("*"));
    reply.remove_suffix(2);
    return std::string(reply.substr(reply.rfind('\n') + 1));
  }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  testing::FakeTransport transport_;
  RespLoop loop_{services_};
  RespSession session_{loop_, transport_, {.address = "127.0.0.1", .is_local = true}};
};

constexpr std::string_view kHundred = "input_tokens 0 cached_tokens 0 output_tokens 100";

TEST_F(ReserveCommandsTest, AReservationIsADecisionWithAReceipt) {
  const std::string reply = Reserve(kHundred);
  EXPECT_THAT(reply, StartsWith("*11\r\n:1\r\n")) << reply;
  EXPECT_FALSE(LastText(reply).empty());
}

TEST_F(ReserveCommandsTest, ADenialHasTheLimitAndACode) {
  EXPECT_THAT(Reserve("input_tokens 0 cached_tokens 0 output_tokens 950"), StartsWith("*11\r\n:1"));
  const std::string reply = Reserve(kHundred);
  EXPECT_THAT(reply, StartsWith("*11\r\n:0\r\n:1000\r\n:50\r\n"));
  EXPECT_THAT(reply, HasSubstr("$3\r\nllm\r\n"));
  EXPECT_THAT(reply, HasSubstr("$4\r\notpm\r\n$19\r\nRATE_LIMIT_EXCEEDED\r\n$0\r\n\r\n"));
  EXPECT_THAT(Reserve("input_tokens 0 cached_tokens 0 output_tokens 2000"),
              HasSubstr("COST_EXCEEDS_LIMIT"));
}

TEST_F(ReserveCommandsTest, ASettlementCorrectsEveryLimitAndReleasesTheSlot) {
  const std::string receipt = ReceiptOf(kHundred);
  const std::string reply = Send("SLUICE.SETTLE " + receipt + " output_tokens 7");
  EXPECT_THAT(reply, StartsWith("*4\r\n:0\r\n:0\r\n:1\r\n*3\r\n"));
  EXPECT_THAT(reply, HasSubstr("$3\r\nllm\r\n$4\r\notpm\r\n:7\r\n:1000\r\n:993\r\n:0\r\n"));
  EXPECT_THAT(reply, HasSubstr("$5\r\nmoney\r\n$5\r\ndaily\r\n:70000\r\n:1000000000\r\n"));
  EXPECT_EQ(Send("SLUICE.SETTLE " + receipt + " output_tokens 7").substr(0, 12),
            "*4\r\n:0\r\n:0\r\n")
      << "again";
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt + " output_tokens 8"),
              StartsWith("-ERR ALREADY_SETTLED: "));
  EXPECT_THAT(Send("SLUICE.CANCEL " + receipt), StartsWith("-ERR ALREADY_SETTLED: "));
}

TEST_F(ReserveCommandsTest, RunningTotalsStopAStream) {
  const std::string receipt = ReceiptOf(kHundred);
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt + " PARTIAL output_tokens 150"),
              StartsWith("*4\r\n:0\r\n"));
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt + " partial output_tokens 1000"),
              StartsWith("*4\r\n:1\r\n"));
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt + " output_tokens 900"),
              HasSubstr("otpm\r\n:900\r\n:1000\r\n:100\r\n"));
}

TEST_F(ReserveCommandsTest, ACanceledCallGivesEverythingBack) {
  const std::string receipt = ReceiptOf(kHundred);
  EXPECT_THAT(Send("SLUICE.CANCEL " + receipt), HasSubstr("rpm\r\n:0\r\n:10\r\n:10\r\n"));
  EXPECT_THAT(Send("SLUICE.CANCEL " + receipt), StartsWith("*4\r\n")) << "again";
}

TEST_F(ReserveCommandsTest, AnExtendedCallKeepsItsSlotAndGetsAReceiptToGoOnWith) {
  const std::string receipt = ReceiptOf(kHundred);
  EXPECT_EQ(LastText(Send("SLUICE.EXTEND " + receipt)), receipt) << "it is young";
  services_.clock.Advance(std::chrono::minutes(40));
  const std::string reply = Send("SLUICE.EXTEND " + receipt);
  EXPECT_THAT(reply, StartsWith("*2\r\n:1\r\n"));
  const std::string extended = LastText(reply);
  EXPECT_NE(extended, receipt);
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt), HasSubstr("was extended"));
  EXPECT_THAT(Send("SLUICE.CANCEL " + receipt), HasSubstr("was extended"));
  services_.clock.Advance(std::chrono::minutes(40));
  EXPECT_THAT(Send("SLUICE.SETTLE " + extended), StartsWith("*4\r\n:0\r\n:0\r\n:1\r\n"));
}

TEST_F(ReserveCommandsTest, WrongArgumentsAreRefusedWithTheReason) {
  EXPECT_THAT(Send("SLUICE.RESERVE api_key a model gpt-5"), StartsWith("-ERR USE quantity amount"));
  EXPECT_THAT(Send("SLUICE.RESERVE api_key a model"), StartsWith("-ERR USE quantity amount"));
  EXPECT_THAT(Reserve("output_tokens"), HasSubstr("'output_tokens' has no amount"));
  for (const char* amount : {"-1", "1.5", "9007199254740993", "x", "99999999999999999999"}) {
    EXPECT_THAT(Reserve("output_tokens " + std::string(amount)),
                StartsWith("-ERR output_tokens must be an integer between 0 and "));
  }
  EXPECT_THAT(Reserve("output_tokens 1 output_tokens 2"), HasSubstr("is there twice"));
  EXPECT_THAT(Reserve("ouput_tokens 1"),
              StartsWith("-ERR UNKNOWN_QUANTITY: use.ouput_tokens: unknown quantity"));
  EXPECT_THAT(Reserve("input_tokens 1 cached_tokens 0"),
              StartsWith("-ERR MISSING_QUANTITY: use.output_tokens: "));
  EXPECT_THAT(Send("SLUICE.RESERVE api_key a model gpt-6 USE input_tokens 0 cached_tokens 0 "
                   "output_tokens 1"),
              StartsWith("-ERR NO_PRICE: "));
  std::string many;
  for (int i = 0; i < 33; ++i) many += " q" + std::to_string(i) + " 1";
  EXPECT_THAT(Reserve(many), StartsWith("-ERR more than 32 quantities"));
  for (const char* command : {"SLUICE.SETTLE", "SLUICE.CANCEL", "SLUICE.EXTEND"}) {
    EXPECT_THAT(Send(std::string(command) + " forged"), StartsWith("-ERR INVALID_RECEIPT: "));
  }
  const std::string receipt = ReceiptOf(kHundred);
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt + " outputs 1"),
              StartsWith("-ERR UNKNOWN_QUANTITY: use.outputs: "));
}

TEST_F(ReserveCommandsTest, AReceiptIsGoodAtOtherServersWithTheSecretOnly) {
  RespLoop other(services_, transport::kDefaultMaxPending, {}, {}, {.secret = "another"});
  RespSession session(other, transport_, {.address = "127.0.0.1", .is_local = true});
  session.Receive("SLUICE.SETTLE " + ReceiptOf(kHundred) + "\r\n");
  EXPECT_THAT(session.output(), StartsWith("-ERR INVALID_RECEIPT: "));
}

TEST_F(ReserveCommandsTest, ASettlementThatFailsKeepsTheSlotUntilItIsRepeated) {
  const std::string receipt = ReceiptOf(kHundred);
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt + " output_tokens 7"), StartsWith("-"));
  store_.failure.reset();
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt + " output_tokens 7"),
              StartsWith("*4\r\n:0\r\n:0\r\n:1\r\n"));
}

TEST_F(ReserveCommandsTest, ARequestBehindASettlementSeesItsSlot) {
  const std::string first = ReceiptOf(kHundred);
  const std::string second = ReceiptOf(kHundred);
  EXPECT_THAT(Reserve(kHundred), HasSubstr("$8\r\nparallel\r\n"));
  const std::string replies =
      Send("SLUICE.SETTLE " + first + "\r\nSLUICE.RESERVE api_key a model gpt-5 USE " +
           std::string(kHundred));
  EXPECT_THAT(replies, HasSubstr("*11\r\n:1\r\n"));
}

TEST_F(ReserveCommandsTest, ASessionMayEndBetweenASettlementAndItsSlots) {
  const std::string receipt = ReceiptOf(kHundred);
  store_.answers_later = true;
  {
    RespSession session(loop_, transport_, {.address = "127.0.0.1", .is_local = true});
    session.Receive("SLUICE.SETTLE " + receipt + "\r\n");
    store_.Answer(1);
    EXPECT_EQ(store_.waiting(), 1U) << "the slot";
  }
  store_.Answer(1);
  store_.answers_later = false;
  EXPECT_THAT(Send("SLUICE.SETTLE " + receipt), StartsWith("*4\r\n:0\r\n:0\r\n:0\r\n"))
      << "it is released";
}

TEST_F(ReserveCommandsTest, RepliesThatWaitKeepTheirOrder) {
  const std::string receipt = ReceiptOf(kHundred);
  store_.answers_later = true;
  EXPECT_EQ(Send("SLUICE.SETTLE " + receipt + " output_tokens 7\r\nPING"), "");
  store_.Answer(10);
  const std::string replies = std::exchange(session_.output(), {});
  EXPECT_THAT(replies, StartsWith("*4\r\n:0\r\n:0\r\n:1\r\n"));
  EXPECT_TRUE(replies.ends_with("+PONG\r\n")) << replies;
}

}  // namespace
}  // namespace sluice::api
