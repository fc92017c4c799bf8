#include "transport/connections.h"

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "transport/testing/client.h"
#include "transport/testing/test_server.h"

namespace sluice::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Client;
using testing::Eventually;
using testing::TestServer;
using testing::TestServerOptions;

constexpr std::string_view kInTime = "the server never closed";

TestServerOptions WithLimits(const ConnectionLimits& limits) {
  return {.listener_group = {.limits = limits}};
}

TEST(ConnectionsTest, EachLineIsAnswered) {
  TestServer server;
  Client client = Client::To(server.address());
  EXPECT_EQ(client.Ask("one"), "one");
  EXPECT_EQ(client.Ask("two"), "two");
  EXPECT_EQ(server.totals().open(), 1U);
  EXPECT_EQ(server.totals().bytes_in, 8U);
  EXPECT_TRUE(Eventually([&] { return server.totals().bytes_out == 8; }));
}

TEST(ConnectionsTest, PipelinedLinesAreAnsweredInOrder) {
  TestServer server;
  Client client = Client::To(server.address());
  std::string lines;
  for (int i = 0; i < 100'000; ++i) lines += std::to_string(i) + "\n";
  std::thread writer([&] { EXPECT_TRUE(client.Send(lines)); });
  EXPECT_EQ(client.Receive(lines.size()), lines);
  writer.join();
}

TEST(ConnectionsTest, ALineMayArriveByteByByte) {
  TestServer server;
  Client client = Client::To(server.address());
  for (const char byte : std::string("slowly\n")) EXPECT_TRUE(client.Send({&byte, 1}));
  EXPECT_EQ(client.ReceiveLine(), "slowly");
}

TEST(ConnectionsTest, AnAnswerThatComesLaterIsWritten) {
  TestServer server;
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("hold\nnow\n"));
  EXPECT_EQ(client.ReceiveLine(), "now");
  server.held().Release();
  EXPECT_EQ(client.ReceiveLine(), "held");
}

TEST(ConnectionsTest, ASessionThatEndsClosesAfterItsLastAnswer) {
  TestServer server;
  Client client = Client::To(server.address());
  // What comes after the end is thrown away, and does not take the answer with it.
  EXPECT_TRUE(client.Send("one\nquit\n" + std::string(1 << 20, 'x')));
  EXPECT_EQ(client.ReceiveAll(), "one\nbye\n");
  client.Close();
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
}

TEST(ConnectionsTest, AClientThatStaysAfterTheEndIsDisconnected) {
  TestServer server(WithLimits({.linger = milliseconds(20)}));
  Client client = Client::To(server.address());
  EXPECT_EQ(client.Ask("quit"), "bye");
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
}

TEST(ConnectionsTest, AHalfClosedClientGetsItsAnswers) {
  TestServer server;
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("one\nhold\ntwo\n"));
  client.EndInput();
  EXPECT_EQ(client.Receive(8), "one\ntwo\n");
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 1; }));
  server.held().Release();
  EXPECT_EQ(client.ReceiveAll(), "held\n");
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
}

TEST(ConnectionsTest, AClientMayVanishWhileItsAnswerIsPending) {
  TestServer server;
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("hold\n"));
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 1; }));
  client.Reset();
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
  EXPECT_EQ(server.totals().reset, 1U);
  server.held().Release();
  EXPECT_EQ(Client::To(server.address()).Ask("still there"), "still there");
}

TEST(ConnectionsTest, AClientMayVanishInTheMiddleOfALargeAnswer) {
  TestServer server;
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("big 15000000\n"));
  EXPECT_EQ(client.Receive(10), "xxxxxxxxxx");
  client.Reset();
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
  EXPECT_EQ(server.totals().reset, 1U);
}

TEST(ConnectionsTest, ASlowReaderIsNotReadFromUntilItReads) {
  // Had the server gone on reading, the output would have passed the hard bound.
  TestServer server(WithLimits({.soft_output_bytes = 256 << 10, .hard_output_bytes = 512 << 10}));
  Client client = Client::To(server.address());
  constexpr std::size_t kLine = 1000;
  constexpr std::size_t kLines = 40'000;
  std::thread writer([&] {
    std::string line(kLine, 'x');
    line.back() = '\n';
    for (std::size_t i = 0; i < kLines; ++i) {
      if (!client.Send(line)) return;
    }
  });
  EXPECT_TRUE(Eventually([&] { return server.totals().bytes_in > 1 << 20; }));
  EXPECT_EQ(client.Receive(kLine * kLines).size(), kLine * kLines);
  writer.join();
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kOutputBuffer], 0U);
  EXPECT_EQ(client.Ask("and on"), "and on");
}

TEST(ConnectionsTest, TooMuchOutputEndsTheConnection) {
  TestServer server(WithLimits({.soft_output_bytes = 1 << 10, .hard_output_bytes = 1 << 20}));
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("big 50000000\n"));
  EXPECT_LT(client.ReceiveAll().size(), 50'000'000U);
  EXPECT_TRUE(Eventually([&] { return server.totals().open() == 0; }));
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kOutputBuffer], 1U);
}

TEST(ConnectionsTest, AClientThatReadsNothingIsDisconnected) {
  TestServer server(WithLimits({.write_timeout = milliseconds(50)}));
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("big 15000000\n"));
  EXPECT_TRUE(Eventually(
      [&] { return server.totals().bounds_exceeded[ResourceBound::kSlowRequest] == 1; }));
}

TEST(ConnectionsTest, AClientThatOnlySendsIsDisconnectedToo) {
  TestServer server(WithLimits({.soft_output_bytes = 64 << 20,
                                .hard_output_bytes = 64 << 20,
                                .write_timeout = milliseconds(50)}));
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("big 15000000\n"));
  EXPECT_TRUE(Eventually([&] { return !client.Send("x\n"); }));
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSlowRequest], 1U);
}

// A sweep may come between a request and the end of its turn, when its answer is written.
TEST(ConnectionsTest, ARecentRequestDoesNotCountAsAWriteTimeout) {
  TestServer server(WithLimits({.linger = milliseconds(5)}));  // Sweeps every 5 ms.
  for (int i = 0; i < 3000; ++i) ASSERT_EQ(Client::To(server.address()).Ask("me"), "me") << i;
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSlowRequest], 0U);
}

TEST(ConnectionsTest, WithManyRequestsPendingNothingMoreIsRead) {
  TestServer server(WithLimits({.max_pending = 4}));
  Client client = Client::To(server.address());
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(client.Send("hold\n"));
    EXPECT_TRUE(
        Eventually([&] { return server.held().size() == static_cast<std::size_t>(i + 1); }));
  }
  EXPECT_TRUE(client.Send("next\n"));
  // A turn of every loop later it has still not been read.
  EXPECT_EQ(Client::To(server.address()).Ask("a"), "a");
  EXPECT_EQ(Client::To(server.address()).Ask("b"), "b");
  EXPECT_EQ(server.totals().bytes_in, 4 * 5U + 2 * 2U);
  server.held().Release();
  const std::string answers = client.Receive(25);
  EXPECT_TRUE(answers.starts_with("held\n")) << answers;
  EXPECT_NE(answers.find("next\n"), std::string::npos) << answers;
}

TEST(ConnectionsTest, AnIdleConnectionIsClosedButNotOneWithAPendingResponse) {
  TestServer server(WithLimits({.idle_timeout = milliseconds(500)}));
  Client waiting = Client::To(server.address());
  EXPECT_TRUE(waiting.Send("hold\n"));
  EXPECT_TRUE(Eventually([&] { return server.held().size() == 1; }));
  Client idle = Client::To(server.address());
  EXPECT_EQ(idle.Ask("hello"), "hello");
  EXPECT_EQ(idle.ReceiveAll(), "") << kInTime;
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kIdle], 1U);
  server.held().Release();
  EXPECT_EQ(waiting.ReceiveLine(), "held");
}

TEST(ConnectionsTest, ARequestThatDoesNotEndIsClosed) {
  TestServer server(WithLimits({.request_timeout = milliseconds(40)}));
  Client client = Client::To(server.address());
  EXPECT_TRUE(client.Send("and then"));
  EXPECT_EQ(client.ReceiveAll(), "") << kInTime;
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSlowRequest], 1U);
}

TEST(ConnectionsTest, ATricklingRequestIsClosedToo) {
  TestServer server(WithLimits({.request_timeout = milliseconds(40)}));
  Client client = Client::To(server.address());
  EXPECT_TRUE(Eventually([&] { return !client.Send("x"); }));
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSlowRequest], 1U);
}

TEST(ConnectionsTest, ABusyClientThatIsAlwaysInSomeRequestIsNotSlow) {
  TestServer server(WithLimits({.request_timeout = seconds(1)}));
  Client client = Client::To(server.address());
  SteadyTime last = SteadyClock::Now();
  const SteadyTime until = last + milliseconds(2500);
  EXPECT_TRUE(client.Send("li"));
  while (last < until) {
    const bool is_served = client.Send("ne\nli") && client.ReceiveLine() == "line";
    const Micros took = SteadyClock::Now() - std::exchange(last, SteadyClock::Now());
    if (took > milliseconds(500)) GTEST_SKIP() << "this machine is too busy for the test";
    ASSERT_TRUE(is_served);
  }
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSlowRequest], 0U);
}

TEST(ConnectionsTest, OneClientsFloodDoesNotStarveOthers) {
  TestServer server({.loops = 1});
  Client flood = Client::To(server.address());
  std::thread writer([&] {
    const std::string much = std::string(1 << 20, 'x') + "\n";
    while (flood.Send(much)) {
    }
  });
  std::thread reader([&] { flood.ReceiveAll(); });
  Client other = Client::To(server.address());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(other.Ask("me too"), "me too");
  shutdown(flood.fd(), SHUT_RDWR);
  writer.join();
  reader.join();
}

TEST(ConnectionsTest, OnceHalfOfTheConnectionsAreUsedSilentOnesAreClosed) {
  TestServer server(
      {.listener_group = {.limits = {.idle_timeout = seconds(1000), .request_timeout = seconds(1)}},
       .admission = {.connections = 6}});
  Client silent = Client::To(server.address());
  Client idle = Client::To(server.address());
  EXPECT_EQ(idle.Ask("a"), "a");
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSilent], 0U);
  Client third = Client::To(server.address());
  EXPECT_EQ(third.Ask("b"), "b");
  EXPECT_EQ(silent.ReceiveAll(), "");
  EXPECT_EQ(server.totals().bounds_exceeded[ResourceBound::kSilent], 1U);
  EXPECT_EQ(idle.Ask("c"), "c") << "a pool of connections that were used may be idle";
}

}  // namespace
}  // namespace sluice::transport
