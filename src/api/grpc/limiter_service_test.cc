#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/grpc_server.h"
#include "wire/proto_reader.h"
#include "wire/proto_writer.h"

namespace sluice::api {
namespace {

using testing::GrpcServer;
using ::testing::HasSubstr;
using wire::ProtoReader;
using wire::ProtoWriter;
using Answer = wire::testing::Http2Client::Answer;
using Use = std::map<std::string, std::int64_t>;

constexpr int kInvalidArgument = 3;
constexpr int kFailedPrecondition = 9;
constexpr std::size_t kFrameBytes = 5;

constexpr std::string_view kLimiterRules = R"(
rules:
  - id: llm
    algorithm: fixed_window
    limits:
      rpm: 10 per day
      otpm: { limit: 1000 per day, type: output_tokens }
      parallel: { algorithm: concurrency, limit: 2, ttl: 1h }
)";

/// The fields of a message; of repeated ones all values.
struct Fields {
  std::multimap<std::uint32_t, std::uint64_t> numbers;
  std::multimap<std::uint32_t, std::string> texts;

  [[nodiscard]] std::int64_t Number(std::uint32_t field) const {
    const auto found = numbers.find(field);
    return found == numbers.end() ? 0 : static_cast<std::int64_t>(found->second);
  }
  [[nodiscard]] std::string Text(std::uint32_t field) const {
    const auto found = texts.find(field);
    return found == texts.end() ? "" : found->second;
  }
};

Fields Parse(std::string_view message) {
  Fields fields;
  ProtoReader reader(message);
  while (reader.Next()) {
    ProtoReader probe = reader;
    const std::uint64_t number = probe.Varint();
    if (probe.ok()) {
      fields.numbers.emplace(reader.field(), number);
    } else {
      fields.texts.emplace(reader.field(), reader.Bytes());
    }
  }
  EXPECT_TRUE(reader.ok());
  return fields;
}

void WriteUse(const Use& use, std::uint32_t field, ProtoWriter& writer) {
  const auto message = writer.Begin(field);
  for (const auto& [name, amount] : use) {
    const auto entry = writer.Begin(1);
    writer.Bytes(1, name).Uint(2, static_cast<std::uint64_t>(amount));
    writer.End(entry);
  }
  writer.End(message);
}

std::string CheckOf(std::string_view key, const Use& use) {
  std::string message;
  ProtoWriter writer(message);
  const auto entry = writer.Begin(1);
  writer.Bytes(1, "api_key").Bytes(2, key);
  writer.End(entry);
  WriteUse(use, 3, writer);
  return message;
}

std::string SettleOf(std::string_view receipt, const Use& use, bool is_partial = false) {
  std::string message;
  ProtoWriter writer(message);
  writer.Bytes(1, receipt);
  WriteUse(use, 2, writer);
  writer.Uint(3, is_partial ? 1 : 0);
  return message;
}

std::string ReceiptMessage(std::string_view receipt) {
  std::string message;
  ProtoWriter(message).Bytes(1, receipt);
  return message;
}

class LimiterServiceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        LoadRules(server_.services.rules(), "rules.yaml", kLimiterRules, server_.services.now())
            .outcome,
        LoadOutcome::kActivated);
  }
  const Answer& Ask(const std::string& method, std::string_view message) {
    return server_.Ask("/sluice.v1.Limiter/" + method, message);
  }
  Fields Call(const std::string& method, std::string_view message) {
    const Answer& answer = Ask(method, message);
    EXPECT_EQ(answer.status(), 0) << answer.message();
    if (answer.body.size() < kFrameBytes) return {};
    return Parse(std::string_view(answer.body).substr(kFrameBytes));
  }
  std::string ReceiptOf(std::int64_t tokens) {
    return Call("Check", CheckOf("a", {{"output_tokens", tokens}})).Text(12);
  }

  GrpcServer server_;
};

TEST_F(LimiterServiceTest, AReservationIsADecisionWithAReceipt) {
  const Fields reply = Call("Check", CheckOf("a", {{"output_tokens", 100}}));
  EXPECT_EQ(reply.Number(1), 1);
  EXPECT_EQ(reply.Text(6), "llm");
  EXPECT_EQ(reply.Text(10), "");
  EXPECT_NE(reply.Text(12), "");
  EXPECT_NE(reply.Number(13), 0) << "its slot";
}

TEST_F(LimiterServiceTest, ADenialIsAReplyWithItsCode) {
  ReceiptOf(950);
  const Fields reply = Call("Check", CheckOf("a", {{"output_tokens", 100}}));
  EXPECT_EQ(reply.Number(1), 0);
  EXPECT_EQ(reply.Number(3), 50);
  EXPECT_EQ(reply.Text(7), "otpm");
  EXPECT_EQ(reply.Text(10), "RATE_LIMIT_EXCEEDED");
  EXPECT_EQ(reply.Text(12), "");
}

TEST_F(LimiterServiceTest, AReceiptIsSettledOnce) {
  const std::string receipt = ReceiptOf(100);
  const Fields reply = Call("Settle", SettleOf(receipt, {{"output_tokens", 7}}));
  EXPECT_EQ(reply.Number(2), 1) << "its slot";
  EXPECT_EQ(reply.texts.count(3), 2U) << "two limits";
  Call("Settle", SettleOf(receipt, {{"output_tokens", 7}}));
  const Answer& other = Ask("Settle", SettleOf(receipt, {{"output_tokens", 8}}));
  EXPECT_EQ(other.status(), kFailedPrecondition);
  EXPECT_THAT(other.message(), HasSubstr("ALREADY_SETTLED"));
  EXPECT_EQ(Ask("Cancel", ReceiptMessage(receipt)).status(), kFailedPrecondition);
}

TEST_F(LimiterServiceTest, RunningTotalsStopAStream) {
  const std::string receipt = ReceiptOf(100);
  EXPECT_EQ(Call("Settle", SettleOf(receipt, {{"output_tokens", 900}}, true)).Number(1), 0);
  EXPECT_EQ(Call("Settle", SettleOf(receipt, {{"output_tokens", 1000}}, true)).Number(1), 1);
}

TEST_F(LimiterServiceTest, ACanceledCallGivesEverythingBack) {
  EXPECT_EQ(Call("Cancel", ReceiptMessage(ReceiptOf(1000))).Number(2), 1);
  EXPECT_EQ(Call("Check", CheckOf("a", {{"output_tokens", 1000}})).Number(1), 1);
}

TEST_F(LimiterServiceTest, AnExtendedCallGetsAReceiptToGoOnWith) {
  const std::string receipt = ReceiptOf(100);
  server_.services.clock.Advance(std::chrono::minutes(40));
  const Fields reply = Call("Extend", ReceiptMessage(receipt));
  EXPECT_EQ(reply.Number(1), 1);
  EXPECT_NE(reply.Text(2), receipt);
  EXPECT_EQ(Ask("Settle", SettleOf(receipt, {})).status(), kFailedPrecondition);
  EXPECT_EQ(Ask("Settle", SettleOf(reply.Text(2), {})).status(), 0);
}

TEST_F(LimiterServiceTest, CallsOfABatchAreDecidedIndependently) {
  std::string message;
  ProtoWriter writer(message);
  writer.Bytes(1, CheckOf("a", {{"output_tokens", 600}}));
  writer.Bytes(1, CheckOf("a", {{"output_tokens", 600}}));
  writer.Bytes(1, CheckOf("a", {}));
  const Fields reply = Call("CheckBatch", message);
  std::vector<std::pair<std::int64_t, std::string>> results;
  for (const auto& [field, text] : reply.texts) {
    results.emplace_back(Parse(text).Number(1), Parse(text).Text(10));
  }
  using Result = std::pair<std::int64_t, std::string>;
  EXPECT_THAT(results, ::testing::ElementsAre(Result(1, ""), Result(0, "RATE_LIMIT_EXCEEDED"),
                                              Result(0, "MISSING_QUANTITY")));
  EXPECT_EQ(Ask("CheckBatch", "").status(), kInvalidArgument);
}

TEST_F(LimiterServiceTest, SlotsAreAcquiredOnceRenewedAndReleased) {
  std::string acquire;
  ProtoWriter writer(acquire);
  writer.Bytes(1, CheckOf("a", {{"output_tokens", 1}})).Uint(2, 77);
  EXPECT_EQ(Call("Acquire", acquire).Number(13), 77);
  const Fields again = Call("Acquire", acquire);
  EXPECT_EQ(again.Number(13), 77);
  std::string slot;
  ProtoWriter slot_writer(slot);
  const auto entry = slot_writer.Begin(2);
  slot_writer.Bytes(1, "api_key").Bytes(2, "a");
  slot_writer.End(entry);
  slot_writer.Uint(3, 77);
  EXPECT_EQ(Call("Renew", slot).Number(1), 1);
  EXPECT_EQ(Call("Release", slot).Number(1), 1);
  EXPECT_EQ(Call("Release", slot).Number(1), 0) << "again";
  const std::string receipt = ReceiptOf(1);
  EXPECT_EQ(Call("Renew", ReceiptMessage(receipt)).Number(1), 1);
  EXPECT_EQ(Call("Release", ReceiptMessage(receipt)).Number(1), 1);
  EXPECT_EQ(Ask("Release", "").status(), kInvalidArgument);
}

TEST_F(LimiterServiceTest, WrongRequestsAreRefusedWithTheReason) {
  EXPECT_THAT(Ask("Check", CheckOf("a", {{"ouput_tokens", 1}})).message(),
              HasSubstr("UNKNOWN_QUANTITY"));
  EXPECT_THAT(Ask("Check", CheckOf("a", {})).message(), HasSubstr("MISSING_QUANTITY"));
  EXPECT_THAT(Ask("Check", CheckOf("a", {{"output_tokens", -1}})).message(),
              HasSubstr("must be between 0 and"));
  std::string both = CheckOf("a", {{"output_tokens", 1}});
  ProtoWriter(both).Uint(2, 5);
  EXPECT_THAT(Ask("Check", both).message(), HasSubstr("can't be combined"));
  EXPECT_THAT(Ask("Settle", SettleOf("forged", {})).message(), HasSubstr("INVALID_RECEIPT"));
  for (const char* method :
       {"Check", "CheckBatch", "Settle", "Cancel", "Extend", "Acquire", "Release", "Renew"}) {
    EXPECT_EQ(Ask(method, "\x0a\xff").status(), kInvalidArgument) << method;
  }
}

}  // namespace
}  // namespace sluice::api
