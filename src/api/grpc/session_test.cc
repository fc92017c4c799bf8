#include "api/grpc/session.h"

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/grpc_server.h"
#include "base/testing/allocations.h"
#include "wire/gzip.h"

namespace sluice::api {
namespace {

using namespace std::chrono_literals;
using testing::GrpcServer;
using ::testing::HasSubstr;
using wire::testing::Framed;
using Answer = wire::testing::Http2Client::Answer;

TEST(GrpcSession, AnswersACallWithHeadersAMessageAndTrailers) {
  GrpcServer server;
  const Answer& answer = server.Ask("/test/Echo", "hello");
  EXPECT_EQ(answer.headers.at(":status"), "200");
  EXPECT_EQ(answer.headers.at("content-type"), "application/grpc");
  EXPECT_EQ(answer.body, Framed("hello"));
  EXPECT_EQ(answer.trailers.at("grpc-status"), "0");
  EXPECT_TRUE(answer.closed);
  EXPECT_EQ(answer.error, 0U);
  EXPECT_EQ(server.session->open_streams(), 0U);
}

TEST(GrpcSession, AnEmptyMessageIsAMessage) {
  GrpcServer server;
  const Answer& answer = server.Ask("/test/Echo", "");
  EXPECT_EQ(answer.body, Framed(""));
  EXPECT_EQ(answer.status(), 0);
}

TEST(GrpcSession, ARefusalIsTrailersOnly) {
  GrpcServer server;
  const Answer& answer = server.Ask("/test/Fail", "x");
  EXPECT_EQ(answer.headers.at("grpc-status"), "3");
  EXPECT_EQ(answer.message(), "100%25 wrong");
  EXPECT_TRUE(answer.trailers.empty());
  EXPECT_TRUE(answer.body.empty());
}

TEST(GrpcSession, AMethodThatIsNotThereIsUnimplemented) {
  GrpcServer server;
  EXPECT_EQ(server.Ask("/test/Nothing", "x").status(), 12);
  EXPECT_EQ(server.Ask("/", "x").status(), 12);
}

TEST(GrpcSession, OnlyPostsOfGrpcAreCalls) {
  GrpcServer server;
  EXPECT_EQ(server.Ask("/test/Echo", "x", {{":method", "PUT"}}).headers.at(":status"), "405");
  for (const char* const type : {"", "application/json", "application/grpcx",
                                 "application/grpc+json", "application/grpc-web"}) {
    EXPECT_EQ(server.Ask("/test/Echo", "x", {{"content-type", type}}).headers.at(":status"), "415")
        << type;
  }
  for (const char* const type :
       {"application/grpc+proto", "application/grpc;charset=utf-8", "application/grpc+proto;a=b"}) {
    EXPECT_EQ(server.Ask("/test/Echo", "x", {{"content-type", type}}).status(), 0) << type;
  }
}

TEST(GrpcSession, TakesOneMessageNeitherNoneNorTwo) {
  GrpcServer server;
  const std::int32_t none = server.client.Begin("/test/Echo");
  server.client.End(none);
  const std::int32_t two = server.client.Begin("/test/Echo");
  server.client.Say(two, Framed("one") + Framed("two"));
  server.client.End(two);
  const std::int32_t half = server.client.Begin("/test/Echo");
  server.client.Say(half, Framed("half").substr(0, 7));
  server.client.End(half);
  server.Talk();
  EXPECT_EQ(server.client.answer(none).status(), 12);
  EXPECT_EQ(server.client.answer(two).status(), 12);
  EXPECT_EQ(server.client.answer(half).status(), 13);
}

TEST(GrpcSession, AMessageThatIsTooLargeIsRefusedBeforeItIsThere) {
  GrpcServer server({.max_message_bytes = 100});
  EXPECT_EQ(server.Ask("/test/Echo", std::string(100, 'x')).status(), 0);
  const std::int32_t large = server.client.Begin("/test/Echo");
  server.client.Say(large, Framed(std::string(101, 'x')).substr(0, 5));
  server.Talk();
  EXPECT_EQ(server.client.answer(large).status(), 8);
  EXPECT_TRUE(server.client.answer(large).closed);
  EXPECT_EQ(server.client.answer(large).error, 0U);
  EXPECT_EQ(server.session->open_streams(), 0U);
}

TEST(GrpcSession, LargeRepliesWaitForTheirWindow) {
  GrpcServer server({}, 1000);
  const std::string large(300'000, 'x');
  const std::int32_t stream = server.client.Call("/test/Echo", large);
  server.Talk();
  EXPECT_EQ(server.client.answer(stream).body, Framed(large));
  EXPECT_EQ(server.client.answer(stream).status(), 0);
}

TEST(GrpcSession, GzipGoesBothWays) {
  GrpcServer server;
  const std::string text(5000, 'z');
  wire::Gzip gzip;
  std::string small;
  ASSERT_TRUE(gzip.Compress(text, small));
  const std::int32_t stream = server.client.Begin(
      "/test/Echo",
      {{"grpc-encoding", "gzip"}, {"grpc-accept-encoding", "identity, deflate, gzip"}});
  server.client.Say(stream, Framed(small, true));
  server.client.End(stream);
  server.Talk();
  const Answer& answer = server.client.answer(stream);
  EXPECT_EQ(answer.status(), 0);
  EXPECT_EQ(answer.headers.at("grpc-encoding"), "gzip");
  ASSERT_EQ(answer.body.at(0), '\1');
  std::string back;
  EXPECT_EQ(gzip.Decompress(answer.body.substr(5), 10'000, back), wire::Gzip::Status::kDone);
  EXPECT_EQ(back, text);
  // Small replies are not worth it, and who does not ask for gzip gets none.
  EXPECT_EQ(server.Ask("/test/Echo", "x", {{"grpc-accept-encoding", "gzip"}}).body, Framed("x"));
  EXPECT_EQ(server.Ask("/test/Echo", text).body, Framed(text));
}

TEST(GrpcSession, ABombOfGzipIsRefused) {
  GrpcServer server;
  wire::Gzip gzip;
  std::string bomb;
  ASSERT_TRUE(gzip.Compress(std::string(1 << 20, '\0'), bomb));
  const auto ask = [&](std::string_view message, const char* encoding) {
    const std::int32_t stream = server.client.Begin("/test/Echo", {{"grpc-encoding", encoding}});
    server.client.Say(stream, Framed(message, true));
    server.client.End(stream);
    server.Talk();
    return server.client.answer(stream).status();
  };
  EXPECT_EQ(ask(bomb, "gzip"), 8);
  EXPECT_EQ(ask("no gzip", "gzip"), 13);
  EXPECT_EQ(ask(bomb, "identity"), 13);
  EXPECT_LE(server.loop.room().capacity(), 128U << 10) << "it was not unpacked";
}

TEST(GrpcSession, ACompressedMessageHasABoundOfItsOwn) {
  GrpcServer server({.max_decompressed_bytes = 5000});
  wire::Gzip gzip;
  const auto ask = [&](std::size_t size) {
    std::string text;
    for (int i = 0; text.size() < size; ++i) text += std::to_string(i) + ",";
    text.resize(size);
    std::string small;
    EXPECT_TRUE(gzip.Compress(text, small));
    const std::int32_t stream = server.client.Begin("/test/Echo", {{"grpc-encoding", "gzip"}});
    server.client.Say(stream, Framed(small, true));
    server.client.End(stream);
    server.Talk();
    return server.client.answer(stream).status();
  };
  EXPECT_EQ(ask(5000), 0);
  EXPECT_EQ(ask(5001), 8);
  EXPECT_EQ(server.Ask("/test/Echo", std::string(100'000, 'x')).status(), 0) << "as it is sent";
}

TEST(GrpcSession, AnUnknownEncodingIsAnsweredWithTheKnownOnes) {
  GrpcServer server;
  const Answer& answer = server.Ask("/test/Echo", "x", {{"grpc-encoding", "snappy"}});
  EXPECT_EQ(answer.status(), 12);
  EXPECT_EQ(answer.headers.at("grpc-accept-encoding"), "identity,gzip");
}

TEST(GrpcSession, AQuestionWaitsNoLongerThanItsCaller) {
  GrpcServer server;
  server.Ask("/test/Limit", "a");
  EXPECT_EQ(testing::last_timeout, 15ms);
  server.Ask("/test/Limit", "a", {{"grpc-timeout", "10m"}});
  EXPECT_EQ(testing::last_timeout, 9ms);
  server.Ask("/test/Limit", "a", {{"grpc-timeout", "1S"}});
  EXPECT_EQ(testing::last_timeout, 900ms);
  EXPECT_EQ(server.Ask("/test/Limit", "a", {{"grpc-timeout", "0n"}}).status(), 4);
  EXPECT_EQ(server.Ask("/test/Limit", "a", {{"grpc-timeout", "soon"}}).status(), 3);
}

TEST(GrpcSession, WhatAMessageTakesToComeIsLostToItsDeadline) {
  GrpcServer server;
  const std::int32_t slow = server.client.Begin("/test/Limit", {{"grpc-timeout", "20m"}});
  const std::int32_t late = server.client.Begin("/test/Limit", {{"grpc-timeout", "20m"}});
  server.Talk();
  server.services.clock.Advance(10ms);
  server.client.Say(slow, Framed("a"));
  server.client.End(slow);
  server.Talk();
  EXPECT_EQ(testing::last_timeout, 9ms);
  server.services.clock.Advance(10ms);
  server.client.Say(late, Framed("a"));
  server.client.End(late);
  server.Talk();
  EXPECT_EQ(server.client.answer(late).status(), 4);
}

TEST(GrpcSession, CallsThatComeTogetherAreDecidedOneAfterTheOther) {
  GrpcServer server;
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 40; ++i) streams.push_back(server.client.Call("/test/Limit", "same"));
  server.Talk();
  int allowed = 0;
  for (const std::int32_t stream : streams) {
    EXPECT_EQ(server.client.answer(stream).status(), 0);
    if (server.client.answer(stream).body == Framed("yes")) ++allowed;
  }
  EXPECT_EQ(allowed, 5);
  EXPECT_EQ(server.services.answers, 40U);
}

TEST(GrpcSession, ACallMayHaveMoreQuestionsThanAreAskedAtOnce) {
  GrpcServer server;
  const std::string keys = "aaaaaabcdefghijklmnopqrstuvwxyzABCDEFGHIJ";
  const std::string expected = "yyyyyn" + std::string(keys.size() - 6, 'y');
  EXPECT_EQ(server.Ask("/test/Many", keys).body, Framed(expected));
  server.store.answers_later = true;
  const std::int32_t stream = server.client.Call("/test/Many", std::string(20, 'Z'));
  server.Talk();
  EXPECT_EQ(server.session->pending(), 1U);
  server.store.Answer(100, true);
  server.Talk();
  EXPECT_EQ(server.session->pending(), 0U);
  EXPECT_EQ(server.client.answer(stream).body.size(), 25U);
  EXPECT_EQ(server.client.answer(stream).status(), 0);
}

TEST(GrpcSession, AnswersComeInAnyOrderAndTheTransportIsNotified) {
  GrpcServer server;
  server.store.answers_later = true;
  const std::int32_t first = server.client.Call("/test/Limit", "1");
  const std::int32_t second = server.client.Call("/test/Limit", "2");
  server.Talk();
  EXPECT_EQ(server.session->pending(), 2U);
  server.store.Answer(1, true);
  EXPECT_EQ(server.transport.notified, 1U);
  server.Talk();
  EXPECT_TRUE(server.client.answer(second).closed);
  EXPECT_FALSE(server.client.answer(first).closed);
  server.store.Answer(1);
  server.Talk();
  EXPECT_EQ(server.client.answer(first).body, Framed("yes"));
}

TEST(GrpcSession, ACallThatIsTakenBackStaysPendingUntilTheStoreAnswers) {
  GrpcServer server;
  server.store.answers_later = true;
  const std::int32_t stream = server.client.Call("/test/Limit", "1");
  server.Talk();
  server.client.Cancel(stream);
  server.Talk();
  EXPECT_EQ(server.session->open_streams(), 0U);
  EXPECT_EQ(server.session->pending(), 1U);
  server.store.Answer(1);
  EXPECT_EQ(server.session->pending(), 0U);
  server.Talk();
  EXPECT_FALSE(server.session->closing());
}

TEST(GrpcSession, MayEndWhileItsCallsWait) {
  GrpcServer server;
  server.store.answers_later = true;
  server.client.Call("/test/Limit", "1");
  server.client.Call("/test/Many", "abc");
  server.client.Begin("/test/Echo");
  server.Talk();
  server.session.reset();
  server.store.Answer(10);
  EXPECT_EQ(server.services.answers, 4U);
}

TEST(GrpcSession, ADialogueAnswersEachMessageUntilEitherEndsIt) {
  GrpcServer server;
  const std::int32_t stream = server.client.Begin("/test/Talk");
  server.client.Say(stream, Framed("one") + Framed("two").substr(0, 3));
  server.Talk();
  EXPECT_EQ(server.client.answer(stream).body, Framed("one"));
  server.client.Say(stream, Framed("two").substr(3));
  server.Talk();
  EXPECT_EQ(server.client.answer(stream).body, Framed("one") + Framed("two"));
  server.client.End(stream);
  server.Talk();
  EXPECT_EQ(server.client.answer(stream).status(), 0);
  const std::int32_t silent = server.client.Begin("/test/Talk");
  server.client.End(silent);
  const std::int32_t stopped = server.client.Begin("/test/Talk");
  server.client.Say(stopped, Framed("one") + Framed("stop") + Framed("three"));
  server.Talk();
  EXPECT_EQ(server.client.answer(silent).status(), 0);
  EXPECT_EQ(server.client.answer(stopped).body, Framed("one"));
  EXPECT_EQ(server.client.answer(stopped).status(), 10);
  EXPECT_TRUE(server.client.answer(stopped).closed);
}

TEST(GrpcSession, HeadersThatAreTooLargeAreRefused) {
  GrpcServer server({.max_header_bytes = 1000});
  EXPECT_EQ(server.Ask("/test/Echo", "x", {{"a", std::string(1000, 'x')}}).status(), 8);
  EXPECT_EQ(server.Ask("/test/Echo", "x").status(), 0);
}

TEST(GrpcHealth, SaysWhetherTheServerServes) {
  GrpcServer server;
  EXPECT_EQ(server.Ask("/grpc.health.v1.Health/Check", "").body, Framed("\x08\x01"));
  EXPECT_EQ(server.Ask("/grpc.health.v1.Health/Check", "\x0a\x16grpc.health.v1.Health").status(),
            3);
  EXPECT_EQ(server.Ask("/grpc.health.v1.Health/Check", "\x0a\x15grpc.health.v1.Health").body,
            Framed("\x08\x01"));
  EXPECT_EQ(server.Ask("/grpc.health.v1.Health/Check", "\x0a\x09ratelimit").body,
            Framed("\x08\x01"));
  EXPECT_EQ(server.Ask("/grpc.health.v1.Health/Check", "\x0a\x04none").status(), 5);
  server.services.health.ready = false;
  EXPECT_EQ(server.Ask("/grpc.health.v1.Health/Check", "").body, Framed("\x08\x02"));
}

TEST(GrpcHealth, WatchersAreNotifiedOfChanges) {
  GrpcServer server;
  const std::int32_t watch = server.client.Call("/grpc.health.v1.Health/Watch", "");
  const std::int32_t unknown = server.client.Call("/grpc.health.v1.Health/Watch", "\x0a\x01x");
  server.Talk();
  EXPECT_EQ(server.client.answer(watch).body, Framed("\x08\x01"));
  EXPECT_EQ(server.client.answer(unknown).body, Framed("\x08\x03"));
  for (int i = 0; i < 100; ++i) server.Pass(1s);
  server.Talk();
  EXPECT_EQ(server.client.answer(watch).body, Framed("\x08\x01"));
  server.services.health.ready = false;
  server.Pass(1s);
  server.Talk();
  EXPECT_EQ(server.client.answer(watch).body, Framed("\x08\x01") + Framed("\x08\x02"));
  EXPECT_FALSE(server.client.answer(watch).closed);
  server.session->Drain();
  server.Talk();
  EXPECT_EQ(server.client.answer(watch).status(), 14);
  EXPECT_TRUE(server.session->closing());
}

TEST(GrpcLife, ADrainLosesNoCall) {
  GrpcServer server;
  server.store.answers_later = true;
  const std::int32_t early = server.client.Call("/test/Limit", "1");
  server.Talk();
  server.session->Drain();
  // It was on its way when the client heard of the end.
  const std::int32_t crossing = server.client.Call("/test/Limit", "2");
  server.Talk();
  ASSERT_EQ(server.client.goodbyes().size(), 2U);
  EXPECT_EQ(server.client.goodbyes()[0].first, 0x7FFFFFFF);
  EXPECT_EQ(server.client.goodbyes()[1].first, crossing);
  EXPECT_FALSE(server.session->closing());
  server.store.Answer(2);
  server.Talk();
  EXPECT_EQ(server.client.answer(early).body, Framed("yes"));
  EXPECT_EQ(server.client.answer(crossing).body, Framed("yes"));
  EXPECT_TRUE(server.session->closing());
  EXPECT_EQ(server.services.call_counters.protocol_errors[Protocol::kGrpc], 0U);
}

TEST(GrpcLife, AClientThatDoesNotAnswerTheGoodbyeIsNotWaitedForLong) {
  GrpcServer server;
  server.Talk();
  server.Pass(1s);
  server.session->Drain();
  server.Pass(100ms);
  EXPECT_FALSE(server.session->closing());
  server.Pass(1s);
  EXPECT_TRUE(server.session->closing());
}

TEST(GrpcLife, AConnectionThatIsOldIsAskedToLeave) {
  GrpcServer server({.max_connection_age = 100s, .max_connection_age_grace = 10s});
  server.store.answers_later = true;
  const std::int32_t stream = server.client.Call("/test/Limit", "1");
  server.Talk();
  server.Pass(0s);
  server.Pass(89s);
  server.Talk();
  EXPECT_TRUE(server.client.goodbyes().empty());
  server.Pass(22s);
  server.Talk();
  EXPECT_FALSE(server.client.goodbyes().empty());
  EXPECT_FALSE(server.session->closing());
  server.store.Answer(1);
  server.Talk();
  EXPECT_EQ(server.client.answer(stream).status(), 0);
  EXPECT_TRUE(server.session->closing());
}

TEST(GrpcLife, CallsOfAnOldConnectionHaveTheirGraceAndNoMore) {
  GrpcServer server({.max_connection_age = 100s, .max_connection_age_grace = 10s});
  const std::int32_t stream = server.client.Begin("/test/Talk");
  server.client.Say(stream, Framed("a"));
  server.Talk();
  server.Pass(0s);
  server.Pass(111s);
  EXPECT_FALSE(server.session->closing());
  server.Pass(10s);
  EXPECT_TRUE(server.session->closing());
}

TEST(GrpcLife, AConnectionWithoutCallsEndsWell) {
  GrpcServer server({.idle_timeout = 60s});
  server.Ask("/test/Echo", "x");
  server.Pass(0s);
  server.Pass(59s);
  EXPECT_FALSE(server.session->closing());
  server.Pass(1s);
  EXPECT_FALSE(server.session->closing()) << "a call may be on its way";
  server.Talk();
  EXPECT_FALSE(server.client.goodbyes().empty());
  server.Pass(1s);  // A client without calls need not answer; it goes.
  EXPECT_TRUE(server.session->closing());
}

TEST(GrpcLife, ASilentClientIsPingedAndEndsIfItDoesNotAnswer) {
  GrpcServer server({.keepalive_interval = 20s, .keepalive_timeout = 5s});
  server.Talk();
  server.Pass(0s);
  for (int i = 0; i < 4; ++i) server.Pass(5s);
  server.Talk();
  EXPECT_EQ(server.client.pings(), 1U);
  server.Pass(5s);
  EXPECT_FALSE(server.session->closing());
  for (int i = 0; i < 6; ++i) server.Pass(5s);
  EXPECT_TRUE(server.session->closing());
}

TEST(GrpcLife, AMessageThatDoesNotComeIsNotWaitedFor) {
  GrpcServer server({.request_timeout = 10s});
  const std::int32_t stream = server.client.Begin("/test/Echo");
  server.client.Say(stream, "\0\0");
  server.Talk();
  server.Pass(0s);
  server.Pass(9s);
  server.Talk();
  EXPECT_EQ(server.client.answer(stream).status(), -1);
  server.Pass(1s);
  server.Talk();
  EXPECT_EQ(server.client.answer(stream).status(), 4);
}

TEST(GrpcLife, AClientOfHttp1GetsAnExplanation) {
  GrpcServer server;
  server.session->Receive("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(server.session->output(), HasSubstr("This port speaks gRPC"));
  EXPECT_TRUE(server.session->closing());
  EXPECT_EQ(server.services.call_counters.protocol_errors[Protocol::kGrpc], 1U);
}

// Lets everything pass, and remembers nothing.
class GenerousStore final : public store::Store {
 public:
  store::Completion Submit(store::StoreCall& call) override {
    call.ok = call.allowed = true;
    for (store::KeyUse& use : call.uses) use.verdict = {.limit = use.limit->cap()};
    return store::Completion::kNow;
  }
  void SubmitBatch(std::span<store::StoreCall* const> calls) override {
    for (store::StoreCall* call : calls) Submit(*call);
  }
};

TEST(GrpcSession, NothingIsAllocatedInTheSteadyState) {
  GenerousStore store;
  testing::FakeServices services(store);
  GrpcLoop loop(services, {.find_method = testing::FindTestMethod});
  testing::FakeTransport transport;
  GrpcSession session(loop, transport, {});
  wire::testing::Http2Client client;
  const auto batch = [&] {
    for (int i = 0; i < 20; ++i) client.Call("/test/Limit", "key");
    return client.Output();
  };
  session.output().reserve(64U << 10);
  // The first ones fill the tables, and the pools.
  for (int i = 0; i < 50; ++i) {
    session.Receive(batch());
    client.Receive(session.output());
    session.output().clear();
  }
  const std::string bytes = batch();
  const std::size_t before = Allocations();
  session.Receive(bytes);
  EXPECT_EQ(Allocations() - before, 0U);
  EXPECT_GT(session.output().size(), 20 * 20U);
}

}  // namespace
}  // namespace sluice::api
