// Frames that no good client would send, written by hand, and good ones in bad amounts.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing/grpc_server.h"
#include "api/testing/share_transport.h"
#include "wire/gzip.h"
#include "wire/testing/http2_client.h"
#include "wire/testing/http2_frames.h"

namespace sluice::api {
namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;
using namespace wire::testing;
using ::testing::Each;
using ::testing::Eq;
using testing::GrpcServer;
using wire::Http2Abuse;

constexpr int kProtocolError = 1;
constexpr int kFlowControlError = 3;
constexpr int kFrameSizeError = 6;
constexpr int kCompressionError = 9;
constexpr int kEnhanceYourCalm = 11;
constexpr int kNone = -1;

std::string Begin(std::uint32_t stream, std::string_view path = "/test/Echo") {
  return Frame(kHeaders, kEndHeaders, stream, CallHeaders(path));
}

std::string Call(std::uint32_t stream) {
  return Begin(stream) + Frame(kData, kEndStream, stream, Framed("x"));
}

// What a session says to these bytes, all of them at once or in pieces.
std::string Exchange(GrpcServer& server, std::string_view bytes, std::size_t piece = 1 << 20) {
  std::string received;
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    server.session->Receive(bytes.substr(i, piece));
    received += std::exchange(server.session->output(), {});
  }
  return received;
}

int ErrorFor(std::string_view bytes) {
  GrpcServer server;
  const int error = GoAwayError(Exchange(server, Greeting() + std::string(bytes)));
  EXPECT_EQ(server.session->closing(), error > 0);
  EXPECT_EQ(server.services.call_counters.protocol_errors[Protocol::kGrpc], error > 0 ? 1U : 0U);
  return error;
}

// The error of the RST_STREAM for a stream, or -1.
int ResetFor(std::string_view bytes, std::uint32_t stream = 1) {
  GrpcServer server;
  int error = -1;
  for (const ReadFrame& frame : ReadFrames(Exchange(server, Greeting() + std::string(bytes)))) {
    if (frame.type == kRstStream && frame.stream == stream) error = frame.payload[3];
  }
  EXPECT_FALSE(server.session->closing());
  return error;
}

TEST(Http2Frames, HeadersOfAStreamThatIsGoneAreNoRequestThatBegan) {
  GrpcServer server;
  Exchange(server, Greeting() + Begin(1, "/test/None"));
  const std::string head = Frame(kHeaders, kEndHeaders | kEndStream, 1, HeaderBlock({{"a", "b"}}));
  Exchange(server, head + Frame(kPing, 0, 0, "12345678"));
  EXPECT_FALSE(server.session->closing());
  EXPECT_FALSE(server.session->in_request());
}

TEST(Http2Frames, ACallIsTheSameHoweverItsBytesAreSplit) {
  for (std::size_t piece = 1;; ++piece) {
    SCOPED_TRACE(piece);
    GrpcServer server;
    const std::int32_t good = server.client.Call("/test/Echo", "hello");
    const std::int32_t bad = server.client.Call("/test/Fail", "hello", {{"grpc-timeout", "1S"}});
    const std::int32_t large = server.client.Call("/test/Echo", std::string(200, 'x'));
    const std::string bytes = server.client.Output();
    server.client.Receive(Exchange(server, bytes, piece));
    EXPECT_EQ(server.client.answer(good).body, Framed("hello"));
    EXPECT_EQ(server.client.answer(good).status(), 0);
    EXPECT_EQ(server.client.answer(bad).status(), 3);
    EXPECT_EQ(server.client.answer(large).body, Framed(std::string(200, 'x')));
    if (piece >= bytes.size()) break;
  }
}

TEST(Http2Frames, WhatBreaksTheConnectionEndsIt) {
  EXPECT_EQ(ErrorFor(Call(1)), kNone);
  EXPECT_EQ(ErrorFor(Frame(kData, 0, 0, "x")), kProtocolError);
  EXPECT_EQ(ErrorFor(Frame(kData, 0, 1, "x")), kProtocolError) << "of an idle stream";
  EXPECT_EQ(ErrorFor(Begin(2)), kProtocolError) << "of a server's number";
  EXPECT_EQ(ErrorFor(Frame(kHeaders, 0, 1, CallHeaders("/")) + Frame(kPing, 0, 0, "12345678")),
            kProtocolError)
      << "between headers";
  EXPECT_EQ(ErrorFor(Frame(kContinuation, kEndHeaders, 1)), kProtocolError);
  EXPECT_EQ(ErrorFor(Frame(kPushPromise, kEndHeaders, 1, Number(2))), kProtocolError);
  EXPECT_EQ(ErrorFor(Frame(kRstStream, 0, 1, Number(8))), kProtocolError) << "of an idle stream";
  EXPECT_EQ(ErrorFor(Frame(kWindowUpdate, 0, 0, Number(0))), kProtocolError);
  EXPECT_EQ(ErrorFor(Begin(1) + Frame(kWindowUpdate, 0, 1, Number(0))), kProtocolError);
  EXPECT_EQ(ErrorFor(Frame(kWindowUpdate, 0, 0, Number(0x7FFFFFFF))), kFlowControlError);
  EXPECT_EQ(ErrorFor(Frame(kSettings, 0, 0, "\0\4\xff\xff\xff\xff"sv)), kFlowControlError);
  EXPECT_EQ(ErrorFor(Frame(kSettings, 0, 0, "\0\2\0\0\0\2"sv)), kProtocolError);
  EXPECT_EQ(ErrorFor(Frame(kSettings, 0, 0, "123")), kFrameSizeError);
  EXPECT_EQ(ErrorFor(Frame(kSettings, kAck, 0, "123456")), kFrameSizeError);
  EXPECT_EQ(ErrorFor(Frame(kSettings, 0, 1)), kProtocolError);
  EXPECT_EQ(ErrorFor(Frame(kPing, 0, 0, "1234")), kFrameSizeError);
  EXPECT_EQ(ErrorFor(Frame(kPing, 0, 1, "12345678")), kProtocolError);
  EXPECT_EQ(ErrorFor(Begin(1) + Frame(kData, 0, 1, std::string(16385, 'x'))), kFrameSizeError);
  EXPECT_EQ(ErrorFor(Frame(kHeaders, kEndHeaders, 1, "\xff\xff\xff\xff\xff")), kCompressionError);
  EXPECT_EQ(ErrorFor(Frame(kHeaders, kEndHeaders, 1, "\xbf")), kCompressionError);
}

TEST(Http2Frames, WhatBreaksAStreamResetsIt) {
  const auto call = [](const Headers& headers) {
    return Frame(kHeaders, kEndHeaders | kEndStream, 1, HeaderBlock(headers));
  };
  EXPECT_EQ(ResetFor(call({{":method", "POST"}, {":scheme", "http"}})), kProtocolError);
  EXPECT_EQ(ResetFor(call({{":method", "POST"}, {":path", "/"}, {":path", "/"}, {":scheme", "x"}})),
            kProtocolError);
  EXPECT_EQ(ResetFor(call({{":method", "GET"}, {":path", "/"}, {":scheme", "x"}, {"Upper", "x"}})),
            kProtocolError);
  EXPECT_EQ(ResetFor(call({{":method", "GET"}, {":path", "/"}, {":scheme", "x"}, {":what", "x"}})),
            kProtocolError);
  EXPECT_EQ(ResetFor(call(
                {{":method", "GET"}, {":path", "/"}, {":scheme", "x"}, {"connection", "close"}})),
            kProtocolError);
  EXPECT_EQ(ResetFor(Begin(1) + Frame(kWindowUpdate, 0, 1, Number(0x7FFFFFFF))), kFlowControlError);
}

TEST(Http2Frames, FramesOfNoKnownKindArePassedOver) {
  EXPECT_EQ(ErrorFor(Frame(0xAB, 0xFF, 0, "whatever") + Call(1)), kNone);
  EXPECT_EQ(ErrorFor(Frame(kPriority, 0, 1, "\0\0\0\3\7"sv) + Call(1)), kNone);
  EXPECT_EQ(ErrorFor(Frame(kSettings, 0, 0, "\xAB\xCD\0\0\0\1"sv) + Call(1)), kNone);
}

// Bytes that a client may send a few times, then often; and what it is then ended for.
void ExpectAbuse(const std::function<std::string(std::uint32_t)>& make, std::uint32_t few,
                 std::uint32_t many, Http2Abuse abuse) {
  SCOPED_TRACE(static_cast<int>(abuse));
  GrpcServer server;
  std::string received = Exchange(server, Greeting());
  for (std::uint32_t i = 0; i < few; ++i) received += Exchange(server, make(i));
  EXPECT_FALSE(server.session->closing());
  EXPECT_EQ(GoAwayError(received), kNone);
  for (std::uint32_t i = few; i < many; ++i) received += Exchange(server, make(i));
  EXPECT_TRUE(server.session->closing());
  EXPECT_EQ(GoAwayError(received), kEnhanceYourCalm);
  EXPECT_EQ(server.services.call_counters.http2_abuses[abuse], 1U);
  EXPECT_EQ(server.services.call_counters.protocol_errors[Protocol::kGrpc], 1U);
}

TEST(Http2Abuse, FloodsEndTheConnection) {
  ExpectAbuse([](auto) { return Frame(kPing, 0, 0, "12345678"); }, 900, 1100, Http2Abuse::kPings);
  ExpectAbuse([](auto) { return Frame(kSettings, 0, 0); }, 90, 110, Http2Abuse::kSettings);
  ExpectAbuse([](auto) { return Frame(kWindowUpdate, 0, 0, Number(1)); }, 9000, 11'000,
              Http2Abuse::kWindowUpdates);
  ExpectAbuse([](auto) { return Frame(kPriority, 0, 1, "\0\0\0\3\7"sv); }, 900, 1100,
              Http2Abuse::kPriorities);
  ExpectAbuse([](auto) { return Frame(0xAB, 0, 0); }, 900, 1100, Http2Abuse::kPriorities);
  ExpectAbuse([](auto i) { return (i == 0 ? Begin(1) : std::string()) + Frame(kData, 0, 1); }, 900,
              1100, Http2Abuse::kEmptyData);
}

TEST(Http2Abuse, HeadersForCallsThatHaveEndedEndTheConnection) {
  const std::string late =
      Frame(kHeaders, kEndHeaders | kEndStream, 1, HeaderBlock({{"a", std::string(100, 'b')}}));
  ExpectAbuse([&](auto i) { return (i == 0 ? Begin(1, "/test/None") : std::string()) + late; }, 900,
              1100, Http2Abuse::kClosedStreams);
}

TEST(Http2Abuse, CallsThatAreTakenBackAtOnceEndTheConnection) {
  ExpectAbuse([](auto i) { return Begin(2 * i + 1) + Frame(kRstStream, 0, 2 * i + 1, Number(8)); },
              900, 1100, Http2Abuse::kResets);
}

TEST(Http2Abuse, CallsThatWeMustTakeBackEndTheConnection) {
  ExpectAbuse(
      [](auto i) {
        return Begin(2 * i + 1) + Frame(kWindowUpdate, 0, 2 * i + 1, Number(0x7FFFFFFF));
      },
      900, 1100, Http2Abuse::kResets);
}

TEST(Http2Abuse, HeadersThatDontEndEndTheConnection) {
  ExpectAbuse(
      [](auto i) {
        const std::string header = HeaderBlock({{"a", "b"}});
        return i == 0 ? Frame(kHeaders, 0, 1, CallHeaders("/"))
                      : Frame(kContinuation, 0, 1, header);
      },
      5, 20, Http2Abuse::kContinuations);
}

TEST(Http2Abuse, FewBytesThatStandForManyEndTheConnection) {
  // A value of 4000 bytes is put into the table, then named again and again by one byte.
  std::string block = "\x40";
  block += HeaderBlock({{"a", std::string(3900, 'x')}}).substr(1);
  block += std::string(1000, '\xbe');
  ExpectAbuse(
      [&](auto i) {
        return i == 0 ? Call(1) : Frame(kHeaders, kEndHeaders, 2 * i + 1, CallHeaders("/") + block);
      },
      1, 2, Http2Abuse::kHeaders);
}

TEST(Http2Abuse, AnswersThatAreNotTakenEndTheConnection) {
  GrpcServer server;
  const std::string no_window = Frame(kSettings, 0, 0, "\0\4\0\0\0\0"sv);
  Exchange(server, Greeting() + no_window + Call(1));
  server.Pass(0s);
  server.Pass(29s);
  EXPECT_FALSE(server.session->closing());
  Exchange(server, Frame(kWindowUpdate, 0, 1, Number(1)));
  server.Pass(29s);
  EXPECT_FALSE(server.session->closing()) << "it took some";
  server.Pass(30s);
  EXPECT_TRUE(server.session->closing());
  EXPECT_EQ(server.services.call_counters.http2_abuses[Http2Abuse::kSlowReader], 1U);
}

TEST(Http2Abuse, WhoIsAnsweredMayPingAndCancelForEver) {
  GrpcServer server;
  std::string received = Exchange(server, Greeting());
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const std::uint32_t stream = 4 * i + 1;
    received = Exchange(server, Call(stream) + Frame(kPing, 0, 0, "12345678") +
                                    Frame(kWindowUpdate, 0, 0, Number(7)) + Begin(stream + 2) +
                                    Frame(kRstStream, 0, stream + 2, Number(8)));
  }
  EXPECT_FALSE(server.session->closing());
  EXPECT_THAT(server.services.call_counters.http2_abuses.values, Each(Eq(0U)));
}

TEST(Http2Abuse, TimeForgives) {
  GrpcServer server;
  server.Pass(0s);
  Exchange(server, Greeting());
  for (int second = 0; second < 50; ++second) {
    for (int i = 0; i < 100; ++i) Exchange(server, Frame(kPing, 0, 0, "12345678"));
    server.Pass(1s);
  }
  EXPECT_THAT(server.services.call_counters.http2_abuses.values, Each(Eq(0U)));
}

TEST(Http2Abuse, RepliesOfAllStreamsThatAreNotTakenAreHeldInBounds) {
  GrpcServer server;
  const std::string no_window = Frame(kSettings, 0, 0, "\0\4\0\0\0\0"sv);
  Exchange(server, Greeting() + no_window);
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += Framed("\x3a\x01*"sv);  // Lists the services.
  for (std::uint32_t i = 0; i < 1000; ++i) {
    const std::uint32_t stream = 2 * i + 1;
    Exchange(server, Begin(stream, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo") +
                         Frame(kData, 0, stream, requests));
    ASSERT_LT(server.session->held_bytes(), 4U << 20) << i;
  }
  EXPECT_FALSE(server.session->closing());
}

TEST(Http2Abuse, CallsWaitWhileRepliesAreNotTakenAndRunWhenTheyAre) {
  GrpcServer server;
  constexpr std::size_t kSize = 40'000;
  constexpr std::uint32_t kCalls = 60;  // More than may wait for the client.
  const std::string no_window = Frame(kSettings, 0, 0, "\0\4\0\0\0\0"sv);
  std::string received = Exchange(server, Greeting() + no_window);
  for (std::uint32_t i = 0; i < kCalls; ++i) {
    const std::uint32_t stream = 2 * i + 1;
    const std::string message = Framed(std::string(kSize, 'x'));
    std::string frames = Begin(stream);
    for (std::size_t at = 0; at < message.size(); at += 16384) {
      const std::string part = message.substr(at, 16384);
      frames += Frame(kData, at + part.size() == message.size() ? kEndStream : 0, stream, part);
    }
    received += Exchange(server, frames);
    ASSERT_LT(server.session->held_bytes(), 6U << 20);
  }
  // Both windows, of the connection and of each stream.
  received += Exchange(server, Frame(kWindowUpdate, 0, 0, Number(1 << 30)) +
                                   Frame(kSettings, 0, 0, "\0\4\x7f\xff\xff\xff"sv));
  while (server.session->pause() != transport::PauseReason::kNone) {
    server.session->Resume();
    received += std::exchange(server.session->output(), {});
  }
  std::size_t bytes = 0;
  std::size_t ended = 0;
  for (const ReadFrame& frame : ReadFrames(received)) {
    if (frame.type == kData) bytes += frame.payload.size();
    if (frame.type == kHeaders && (frame.flags & kEndStream) != 0) ++ended;
  }
  EXPECT_EQ(ended, kCalls);
  EXPECT_EQ(bytes, kCalls * (kSize + 5));
  EXPECT_FALSE(server.session->closing());
}

TEST(Http2Abuse, AStreamThatIsTakenBackWhileItsCallWaitsIsForgotten) {
  GrpcServer server;
  const std::string no_window = Frame(kSettings, 0, 0, "\0\4\0\0\0\0"sv);
  Exchange(server, Greeting() + no_window);
  std::uint32_t stream = 1;
  for (; server.session->held_bytes() < (3U << 20) / 2; stream += 2) {
    const std::string message = Framed(std::string(16'000, 'x'));
    Exchange(server, Begin(stream) + Frame(kData, kEndStream, stream, message));
  }
  for (std::uint32_t i = 1; i < stream; i += 2) {
    Exchange(server, Frame(kRstStream, 0, i, Number(8)));
  }
  EXPECT_EQ(server.session->open_streams(), 0U);
  EXPECT_LT(server.session->held_bytes(), 100'000U);
  EXPECT_FALSE(server.session->closing());
}

TEST(Http2Abuse, MessagesThatInflateAreACostlyKindOfCall) {
  wire::Gzip gzip;
  std::string bomb;
  std::string text;
  for (int i = 0; text.size() < 60'000; ++i) text += std::to_string(i % 97) + std::string(60, 'x');
  ASSERT_TRUE(gzip.Compress(text, bomb));
  ASSERT_LT(bomb.size() * 20, text.size());
  const auto call = [&](std::uint32_t i) {
    const std::string headers = HeaderBlock({{":method", "POST"},
                                             {":scheme", "http"},
                                             {":path", "/test/Fail"},
                                             {":authority", "test"},
                                             {"content-type", "application/grpc"},
                                             {"grpc-encoding", "gzip"},
                                             {"te", "trailers"}});
    return Frame(kHeaders, kEndHeaders, 2 * i + 1, headers) +
           Frame(kData, kEndStream, 2 * i + 1, Framed(bomb, true));
  };
  ExpectAbuse(call, 100, 400, Http2Abuse::kInflation);
}

TEST(Http2Abuse, MessagesThatInflateAsTextDoesAreNone) {
  wire::Gzip gzip;
  std::string small;
  std::string text;
  for (int i = 0; text.size() < 4000; ++i) text += "api_key=" + std::to_string(i * 7919) + ";";
  ASSERT_TRUE(gzip.Compress(text, small));
  GrpcServer server;
  for (int i = 0; i < 5000; ++i) {
    const std::int32_t stream = server.client.Begin("/test/Fail", {{"grpc-encoding", "gzip"}});
    server.client.Say(stream, Framed(small, true));
    server.client.End(stream);
    server.Talk();
    ASSERT_EQ(server.client.answer(stream).status(), 3) << i;
  }
  EXPECT_THAT(server.services.call_counters.http2_abuses.values, Each(Eq(0U)));
}

TEST(Http2Abuse, AFloodOfCallsIsDividedIntoTurnsAndLosesNone) {
  GrpcServer server;
  testing::ShareTransport transport(16);
  server.session = std::make_unique<GrpcSession>(server.loop, transport, Peer{});
  std::string bytes = Greeting();
  constexpr std::uint32_t kCalls = 900;
  for (std::uint32_t i = 0; i < kCalls; ++i) bytes += Call(2 * i + 1);
  server.session->Receive(bytes);
  EXPECT_EQ(server.session->pause(), transport::PauseReason::kTurn);
  EXPECT_LT(ReadFrames(server.session->output()).size(), 3 * 200U) << "a piece or two";
  EXPECT_GT(transport.RunTurns(*server.session), 5U);
  std::size_t ended = 0;
  for (const ReadFrame& frame : ReadFrames(server.session->output())) {
    if (frame.type == kHeaders && (frame.flags & kEndStream) != 0) ++ended;
  }
  EXPECT_EQ(ended, kCalls);
}

TEST(Http2Abuse, MessagesThatAreNotWholeAreHeldInBounds) {
  GrpcServer server({.max_message_bytes = 4U << 20});
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 8; ++i) {
    streams.push_back(server.client.Begin("/test/Echo"));
    server.client.Say(streams.back(), Framed(std::string(3U << 20, 'x')).substr(0, 2'900'000));
  }
  server.Talk();
  int refused = 0;
  for (const std::int32_t stream : streams) {
    if (server.client.answer(stream).status() == 8) ++refused;
  }
  EXPECT_GE(refused, 1);
  EXPECT_LE(refused, 6);
}

TEST(Http2Abuse, MoreCallsAtOnceThanAllowedAreNotTaken) {
  GrpcServer server({.max_streams = 2});
  server.store.answers_later = true;
  const std::string received = Exchange(server, Greeting() + Begin(1) + Begin(3) + Begin(5));
  bool refused = false;
  for (const ReadFrame& frame : ReadFrames(received)) {
    if (frame.type == kRstStream && frame.stream == 5) refused = frame.payload[3] == 7;
  }
  EXPECT_TRUE(refused);
  EXPECT_EQ(server.session->open_streams(), 2U);
}

}  // namespace
}  // namespace sluice::api
