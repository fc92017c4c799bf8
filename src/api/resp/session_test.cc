#include "api/resp/session.h"

#include <chrono>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"
#include "api/testing/random_pipeline.h"
#include "api/testing/share_transport.h"
#include "base/testing/allocations.h"
#include "resp/encoder.h"

namespace sluice::api {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Lets everything pass, at once or later, and remembers nothing.
class GenerousStore final : public store::Store {
 public:
  store::Completion Submit(store::StoreCall& call) override {
    call.ok = call.allowed = true;
    for (store::KeyUse& use : call.uses) use.verdict = {.limit = use.limit->cap()};
    if (!answers_later) return store::Completion::kNow;
    call.pending = true;
    waiting_.push_back(&call);
    return store::Completion::kLater;
  }
  void SubmitBatch(std::span<store::StoreCall* const> calls) override {
    for (store::StoreCall* call : calls) Submit(*call);
  }
  void AnswerAll() {
    for (store::StoreCall* call : waiting_) {
      call->pending = false;
      call->on_done(*call, call->context);
    }
    waiting_.clear();
  }

  bool answers_later = false;

 private:
  std::vector<store::StoreCall*> waiting_;
};

constexpr std::string_view kThrottle = "CL.THROTTLE k 2 1 60\r\n";

class RespSessionTest : public ::testing::Test {
 protected:
  std::string Send(std::string_view bytes) {
    session_->Receive(bytes);
    return Taken();
  }
  std::string Taken() { return std::exchange(session_->output(), {}); }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  testing::FakeTransport transport_;
  RespLoop loop_{services_};
  std::unique_ptr<RespSession> session_ = std::make_unique<RespSession>(
      loop_, transport_, Peer{.address = "127.0.0.1", .is_local = true});
};

TEST_F(RespSessionTest, ATlsClientIsCutOffAtItsFirstByte) {
  for (const std::size_t piece : {1U, 5U, 100U}) {
    RespSession session(loop_, transport_, {});
    const std::string hello = "\x16\x03\x01\x02\x05PING\r\nPING\r\nDEL k\r\n";
    for (std::size_t at = 0; at < hello.size(); at += piece) {
      session.Receive(std::string_view(hello).substr(at, piece));
    }
    EXPECT_TRUE(session.closing());
    EXPECT_EQ(session.output(), "");
  }
  EXPECT_EQ(services_.call_counters.protocol_errors[Protocol::kResp], 3U);
  RespSession later(loop_, transport_, {});
  later.Receive("PING\r\n");
  later.Receive("\x16\r\nPING\r\n");
  EXPECT_FALSE(later.closing()) << "only the first byte of a connection tells";
}

TEST_F(RespSessionTest, AnswersCommandsInOrderHoweverTheyArrive) {
  const std::string bytes =
      "*1\r\n$4\r\nPING\r\nECHO a\r\n*2\r\n$4\r\necho\r\n$1\r\nb\r\nPING c\r\n";
  const std::string expected = "+PONG\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n";
  EXPECT_EQ(Send(bytes), expected);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    std::string replies = Send(std::string_view(bytes).substr(0, cut));
    replies += Send(std::string_view(bytes).substr(cut));
    EXPECT_EQ(replies, expected) << "cut at " << cut;
  }
  EXPECT_FALSE(session_->closing());
}

TEST_F(RespSessionTest, AProtocolErrorIsAnsweredAndEndsTheConversation) {
  EXPECT_EQ(Send("PING\r\n*1\r\n:1\r\nPING\r\n"),
            "+PONG\r\n-ERR Protocol error: expected '$', got ':'\r\n");
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(services_.call_counters.protocol_errors[Protocol::kResp], 1U);
  EXPECT_EQ(Send("PING\r\n"), "");
}

TEST_F(RespSessionTest, QuitIsAnsweredAndNothingAfterIt) {
  EXPECT_EQ(Send("QUIT\r\nPING\r\n"), "+OK\r\n");
  EXPECT_TRUE(session_->closing());
}

TEST_F(RespSessionTest, ABrowserIsNotAnsweredBeyondItsFirstLine) {
  EXPECT_THAT(Send("GET / HTTP/1.1\r\nHost: localhost\r\nPING\r\n"),
              StartsWith("-ERR wrong number of arguments for 'get' command"));
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(services_.call_counters.protocol_errors[Protocol::kResp], 1U);
}

TEST_F(RespSessionTest, GarbageOfOneClientAffectsNoOther) {
  RespSession other(loop_, transport_, {.address = "127.0.0.1", .is_local = true});
  other.Receive("*2\r\n$4\r\nECHO\r\n$5\r\nhel");
  Send("*1\r\n$-5\r\n");
  other.Receive("lo\r\n");
  EXPECT_EQ(other.output(), "$5\r\nhello\r\n");
}

TEST_F(RespSessionTest, ASessionIsInARequestUntilItIsComplete) {
  EXPECT_FALSE(session_->in_request());
  Send("PI");
  EXPECT_TRUE(session_->in_request());
  Send("NG\r\n");
  EXPECT_FALSE(session_->in_request());
}

TEST_F(RespSessionTest, WhoTakesNoRepliesGetsNoMoreThanSoManyAndAllOfThemInTheEnd) {
  const std::string once = Send("COMMAND DOCS\r\n");
  std::string commands;
  std::string expected;
  for (std::size_t i = 0; i < 2 * RespSession::kMaxOutput / once.size(); ++i) {
    commands += "COMMAND DOCS\r\n";
    expected += once;
  }
  std::string heard = Send(commands + "PI");
  EXPECT_LT(heard.size(), RespSession::kMaxOutput + once.size());
  EXPECT_FALSE(session_->in_request()) << "it is not for the client to go on";
  while (session_->held_back()) {
    session_->Resume();
    heard += Taken();
  }
  EXPECT_TRUE(heard == expected);
  EXPECT_TRUE(session_->in_request());
  EXPECT_EQ(Send("NG\r\n"), "+PONG\r\n");
}

TEST_F(RespSessionTest, RepliesKeepTheirOrderThoughAStoreAnswersLater) {
  store_.answers_later = true;
  EXPECT_EQ(Send("PING 1\r\nCL.THROTTLE a 2 1 60\r\nPING 2\r\nCL.THROTTLE a 2 1 60\r\nPING 3\r\n"),
            "$1\r\n1\r\n");
  EXPECT_EQ(session_->pending(), 2U);
  store_.Answer(1, true);
  EXPECT_EQ(transport_.notified, 0U) << "there is nothing to write yet";
  EXPECT_EQ(Taken(), "");
  store_.Answer(1);
  EXPECT_EQ(transport_.notified, 1U);
  EXPECT_EQ(session_->pending(), 0U);
  // The store judged the second command first.
  EXPECT_EQ(Taken(),
            "*5\r\n:0\r\n:3\r\n:1\r\n:-1\r\n:120\r\n$1\r\n2\r\n"
            "*5\r\n:0\r\n:3\r\n:2\r\n:-1\r\n:60\r\n$1\r\n3\r\n");
  EXPECT_EQ(services_.answers, 2U);
}

TEST_F(RespSessionTest, ASessionMayEndWhileItWaits) {
  store_.answers_later = true;
  for (int i = 0; i < 5; ++i) Send(kThrottle);
  session_.reset();
  EXPECT_EQ(store_.waiting(), 5U);
  store_.Answer(5);
  EXPECT_EQ(transport_.notified, 0U);
  EXPECT_EQ(services_.answers, 5U) << "what was asked for was taken, and counts";
  RespSession next(loop_, transport_, {});
  store_.answers_later = false;
  next.Receive(kThrottle);
  EXPECT_EQ(next.output(), "*5\r\n:1\r\n:3\r\n:0\r\n:60\r\n:180\r\n");
}

TEST_F(RespSessionTest, ATransportMayEndTheSessionWhenItIsNotified) {
  class Ender final : public transport::Transport {
   public:
    void OutputReady() override { session.reset(); }
    std::unique_ptr<RespSession> session;
  };
  Ender ender;
  ender.session = std::make_unique<RespSession>(loop_, ender, Peer{});
  store_.answers_later = true;
  ender.session->Receive(std::string(kThrottle) + std::string(kThrottle));
  store_.Answer(2);
  EXPECT_EQ(ender.session, nullptr);
}

TEST_F(RespSessionTest, CommandsBeyondThoseThatMayWaitAreKeptUntilSomeAreAnswered) {
  store_.answers_later = true;
  constexpr std::size_t kMore = 500;
  std::string bytes;
  for (std::size_t i = 0; i < transport::kDefaultMaxPending + kMore; ++i) bytes += kThrottle;
  bytes += "PING\r\n";
  EXPECT_EQ(Send(bytes), "");
  EXPECT_EQ(store_.waiting(), transport::kDefaultMaxPending);
  EXPECT_FALSE(session_->in_request()) << "it is not the client who is slow";
  EXPECT_EQ(Send("PING 2\r\n"), "");
  store_.Answer(1);
  EXPECT_EQ(store_.waiting(), transport::kDefaultMaxPending);
  while (store_.waiting() > 0) store_.Answer(100);
  const std::string replies = Taken();
  EXPECT_EQ(services_.answers, transport::kDefaultMaxPending + kMore);
  EXPECT_THAT(replies, StartsWith("*5\r\n:0\r\n"));
  EXPECT_THAT(replies.substr(replies.size() - 14), "+PONG\r\n$1\r\n2\r\n");
}

TEST_F(RespSessionTest, HowManyMayWaitCanBeConfigured) {
  store_.answers_later = true;
  RespLoop narrow(services_, 3);
  RespSession session(narrow, transport_, {});
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += kThrottle;
  session.Receive(bytes);
  EXPECT_EQ(session.pending(), 3U);
  store_.Answer(1);
  EXPECT_EQ(session.pending(), 3U);
  store_.Answer(20);
  EXPECT_EQ(session.pending(), 0U);
}

TEST_F(RespSessionTest, AnEndlessRequestIsCutOff) {
  store_.answers_later = true;
  std::string bytes;
  while (bytes.size() < 64U << 10U) bytes += kThrottle;
  std::size_t sent = 0;
  while (!session_->closing() && sent < 4 * RespSession::kMaxBacklog) {
    session_->Receive(bytes);
    sent += bytes.size();
  }
  EXPECT_TRUE(session_->closing());
  EXPECT_LT(sent, 2 * RespSession::kMaxBacklog);
  store_.Answer(transport::kDefaultMaxPending);
  EXPECT_THAT(Taken(), HasSubstr("too many commands without waiting for an answer"));
  EXPECT_EQ(session_->pending(), 0U);
}

TEST_F(RespSessionTest, QuitWaitsForWhatWasAskedBefore) {
  store_.answers_later = true;
  EXPECT_EQ(Send(std::string(kThrottle) + "QUIT\r\n"), "");
  EXPECT_TRUE(session_->closing());
  EXPECT_EQ(session_->pending(), 1U);
  store_.Answer(1);
  EXPECT_EQ(transport_.notified, 1U);
  EXPECT_THAT(Taken(), HasSubstr("+OK\r\n"));
}

TEST_F(RespSessionTest, DrainingEndsAnIdleSessionAtOnce) {
  session_->Drain();
  EXPECT_TRUE(session_->closing());
}

TEST_F(RespSessionTest, DrainingAnswersAllThatHasArrived) {
  store_.answers_later = true;
  std::string bytes;
  for (std::size_t i = 0; i < transport::kDefaultMaxPending + 10; ++i) bytes += kThrottle;
  Send(bytes);
  session_->Drain();
  EXPECT_FALSE(session_->closing());
  store_.Answer(transport::kDefaultMaxPending);
  EXPECT_TRUE(session_->closing());
  store_.Answer(transport::kDefaultMaxPending);
  EXPECT_EQ(session_->pending(), 0U);
  EXPECT_EQ(services_.answers, transport::kDefaultMaxPending + 10);
}

TEST_F(RespSessionTest, AFailingStoreIsAnErrorForOneCommandOnly) {
  store_.failure = ErrorCode::kStoreFull;
  EXPECT_EQ(Send(kThrottle),
            "-EXCESSIVE_KEY_CARDINALITY the store has no room for another key\r\n");
  store_.failure.reset();
  EXPECT_THAT(Send(kThrottle), StartsWith("*5\r\n:0\r\n"));
}

TEST_F(RespSessionTest, HostileBytesNeverBreakASession) {
  const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::vector<std::string> words = {"CL.THROTTLE",
                                          "SLUICE.CHECK",
                                          "SLUICE.GRANT",
                                          "SLUICE.PEEK",
                                          "DEL",
                                          "HELLO",
                                          "CLIENT",
                                          "CONFIG",
                                          "COMMAND",
                                          "INFO",
                                          "AUTH",
                                          "GET",
                                          "3",
                                          "AUTH",
                                          "SETNAME",
                                          "-1",
                                          "99999999999",
                                          "api_key",
                                          "COST",
                                          "docs",
                                          "*",
                                          "\r\n",
                                          "",
                                          "AMOUNT",
                                          "k",
                                          "60",
                                          "\xFF"};
  LoadRules(services_.rules(), "rules.yaml", "rules:\n  - { id: api, limit: 10/s }\n",
            services_.now());
  for (int round = 0; round < 3000; ++round) {
    RespSession session(loop_, transport_, {.address = "10.0.0.1", .is_local = random() % 2 == 0});
    store_.answers_later = random() % 4 == 0;
    std::string bytes;
    for (std::size_t commands = random() % 6; commands > 0; --commands) {
      std::vector<std::string_view> command;
      for (std::size_t size = random() % 8; size > 0; --size) {
        command.push_back(words[random() % words.size()]);
      }
      resp::AppendCommand(bytes, command);
    }
    for (std::size_t flips = random() % 3; flips > 0 && !bytes.empty(); --flips) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const std::size_t cut = bytes.empty() ? 0 : random() % bytes.size();
    session.Receive(std::string(bytes, 0, cut));
    session.Receive(std::string(bytes, cut));
    if (random() % 2 == 0) store_.Answer(10);
  }
  store_.Answer(100'000);
}

// One session with all around it.
struct Alone {
  explicit Alone(bool answers_later) {
    store.answers_later = answers_later;
    services.token = testing::kPipelineToken;
    LoadRules(services.rules(), "rules.yaml", testing::kPipelineRules, services.now());
  }

  testing::DelayedStore store;
  testing::FakeServices services{store};
  testing::FakeTransport transport;
  RespLoop loop{services};
  RespSession session{loop, transport, {}};
};

TEST(RespSession, APipelineIsAnsweredAsIfItsCommandsCameOneByOne) {
  const auto seed = static_cast<std::uint64_t>(::testing::UnitTest::GetInstance()->random_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    const bool answers_later = random() % 3 == 0;
    Alone one_by_one(answers_later);
    Alone together(answers_later);
    for (std::size_t reads = random() % 4; reads > 0; --reads) {
      std::string bytes;
      for (std::size_t commands = random() % 100; commands > 0; --commands) {
        const std::string command = testing::RandomCommand(random);
        one_by_one.session.Receive(command);
        bytes += command;
      }
      const std::size_t cut = random() % (bytes.size() + 1);
      together.session.Receive(std::string(bytes, 0, cut));
      together.session.Receive(std::string(bytes, cut));
      EXPECT_EQ(together.session.pending(), one_by_one.session.pending());
      const std::size_t answers = random() % 200;
      one_by_one.store.Answer(answers);
      together.store.Answer(answers);
      const Micros later = std::chrono::milliseconds(random() % 3000);
      one_by_one.services.clock.Advance(later);
      together.services.clock.Advance(later);
    }
    one_by_one.store.Answer(1000);
    together.store.Answer(1000);
    ASSERT_EQ(together.session.output(), one_by_one.session.output());
    ASSERT_EQ(together.session.closing(), one_by_one.session.closing());
    ASSERT_EQ(together.services.answers, one_by_one.services.answers);
  }
}

TEST(RespSession, APipelineIsTheSameHoweverItIsDividedIntoTurns) {
  std::mt19937_64 random(7);
  std::string bytes;
  for (int i = 0; i < 12; ++i) bytes += testing::RandomCommand(random);
  Alone whole(false);
  whole.session.Receive(bytes);
  for (const std::uint32_t share : {1U, 2U, 5U}) {
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      SCOPED_TRACE(::testing::Message() << share << " commands a turn, split at " << cut);
      Alone divided(false);
      testing::ShareTransport transport(share);
      RespSession session(divided.loop, transport, {});
      session.Receive(std::string(bytes, 0, cut));
      if (cut % 2 == 0) transport.RunTurns(session);
      session.Receive(std::string(bytes, cut));
      transport.RunTurns(session);
      ASSERT_EQ(session.output(), whole.session.output());
      ASSERT_EQ(session.closing(), whole.session.closing());
    }
  }
}

TEST(RespSession, AFloodRunsNoMoreCommandsInATurnThanItsShare) {
  testing::DelayedStore store;
  testing::FakeServices services(store);
  RespLoop loop(services);
  testing::ShareTransport transport(10);
  RespSession session(loop, transport, {});
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += "PING\r\n";
  session.Receive(bytes);
  EXPECT_EQ(session.output().size(), 10 * std::string_view("+PONG\r\n").size());
  EXPECT_EQ(session.pause(), transport::PauseReason::kTurn);
  EXPECT_FALSE(session.in_request()) << "it waits for us";
  EXPECT_EQ(transport.RunTurns(session), 9U);
  EXPECT_EQ(session.output().size(), 100 * std::string_view("+PONG\r\n").size());
}

TEST(RespSession, ASessionAsksNoMoreThanItsShareOfTheStoresQueue) {
  testing::DelayedStore store;
  store.answers_later = true;
  testing::FakeServices services(store);
  store::StoreQueue queue(std::chrono::milliseconds(25));
  services.queue = &queue;
  for (int i = 0; i < 7; ++i) queue.AddConnection();  // Others with calls under way.
  RespLoop loop(services);
  testing::FakeTransport transport;
  RespSession session(loop, transport, {});
  std::string bytes;
  for (int i = 0; i < 100; ++i) bytes += "CL.THROTTLE key 100000 1 60\r\n";
  session.Receive(bytes);
  EXPECT_EQ(store.waiting(), store::StoreQueue::kFirstLimit / 8);
  EXPECT_EQ(session.pause(), transport::PauseReason::kStore);
  EXPECT_FALSE(session.MayAskStore());
  while (store.waiting() > 0) {
    store.Answer(1);
    EXPECT_LE(store.waiting(), store::StoreQueue::kFirstLimit / 8);
  }
  EXPECT_EQ(session.pause(), transport::PauseReason::kNone);
  EXPECT_EQ(session.pending(), 0U);
  EXPECT_EQ(std::ranges::count(session.output(), '*'), 100);
}

TEST(RespSession, WhatASessionHoldsIsCounted) {
  Alone alone(true);
  alone.session.Receive("*2\r\n$4\r\nECHO\r\n$100000\r\n" + std::string(90'000, 'x'));
  EXPECT_GE(alone.session.held_bytes(), 90'000U);
}

TEST(RespSession, InTheSteadyStateNothingIsAllocatedForAnswersThatComeLater) {
  GenerousStore store;
  store.answers_later = true;
  testing::FakeServices services(store);
  testing::FakeTransport transport;
  RespLoop loop(services);
  RespSession session(loop, transport, {});
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += "CL.THROTTLE some:longer:key:of:a:client 15 30 60\r\n";
  const auto ask_often = [&] {
    for (int i = 0; i < 10; ++i) {
      session.Receive(bytes);
      store.AnswerAll();
      session.output().clear();
    }
  };
  ask_often();
  const std::size_t before = Allocations();
  ask_often();
  EXPECT_EQ(Allocations(), before);
  EXPECT_EQ(session.pending(), 0U);
}

TEST(RespSession, InTheSteadyStateNothingIsAllocated) {
  GenerousStore store;
  testing::FakeServices services(store);
  testing::FakeTransport transport;
  RespLoop loop(services);
  RespSession session(loop, transport, {});
  LoadRules(services.rules(), "rules.yaml", "rules:\n  - { id: api, limit: 1000000/s }\n",
            services.now());
  std::string bytes;
  for (int i = 0; i < 50; ++i) {
    bytes += "CL.THROTTLE some:longer:key:of:a:client 15 30 60\r\n";
    resp::AppendCommand(bytes, {"SLUICE.CHECK", "api_key", "some-longer-key-of-a-client"});
  }
  for (int i = 0; i < 3; ++i) {
    session.Receive(bytes);
    session.output().clear();
  }
  const std::size_t before = Allocations();
  for (int i = 0; i < 10; ++i) {
    session.Receive(bytes);
    session.output().clear();
  }
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace sluice::api
