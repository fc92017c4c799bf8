#include "statsd/statsd_sender.h"

#include <array>
#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace sluice::statsd {
namespace {

using std::chrono::seconds;

void WriteOne(telemetry::MetricSink& sink) {
  sink.Family("up", MetricType::kGauge, "Up.");
  sink.Sample({}, std::uint64_t{1});
  sink.End();
}

std::string Receive(const net::Fd& socket) {
  std::array<char, 2000> bytes;
  const ssize_t size = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
  return size < 0 ? "" : std::string(bytes.data(), static_cast<std::size_t>(size));
}

TEST(StatsdSenderTest, MetricsArriveOverUdpAndOnceMoreAtTheEnd) {
  const net::Fd receiver(::socket(AF_INET, SOCK_DGRAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(::bind(receiver.get(), generic, size), 0);
  ASSERT_EQ(::getsockname(receiver.get(), generic, &size), 0);
  SenderOptions options{.interval = std::chrono::hours(1)};
  ASSERT_TRUE(ReadAddress("127.0.0.1:" + std::to_string(ntohs(address.sin_port)), options));
  Sender sender(options);
  sender.Start(WriteOne);
  EXPECT_TRUE(sender.TryStop(seconds(60)));
  EXPECT_EQ(Receive(receiver), "up:1|g");
  EXPECT_EQ(sender.Metrics().sent, 1U);
}

TEST(StatsdSenderTest, AUnixSocketIsFoundAgainAfterItsReceiverWasRestarted) {
  const std::string path = testing::TempDir() + "statsd_" + std::to_string(::getpid());
  SenderOptions options{.interval = std::chrono::milliseconds(1)};
  ASSERT_TRUE(ReadAddress("unix:" + path, options));
  Sender sender(options);
  sender.Start(WriteOne);
  for (int i = 0; i < 2; ++i) {
    ::unlink(path.c_str());
    const net::Fd receiver(::socket(AF_UNIX, SOCK_DGRAM, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(::bind(receiver.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(Receive(receiver), "up:1|g");
  }
  ::unlink(path.c_str());
  EXPECT_TRUE(sender.TryStop(seconds(60)));
}

TEST(StatsdSenderTest, WithoutAReceiverDatagramsAreDroppedAndCounted) {
  SenderOptions options{.interval = std::chrono::milliseconds(1)};
  ASSERT_TRUE(ReadAddress("unix:/nowhere/at/all", options));
  Sender sender(options);
  sender.Start(WriteOne);
  EXPECT_TRUE(sender.TryStop(seconds(60)));
  EXPECT_GE(sender.Metrics().dropped, 1U);
  EXPECT_EQ(sender.Metrics().sent, 0U);
}

TEST(StatsdSenderTest, AddressesAreReadOrRefused) {
  SenderOptions options;
  ASSERT_TRUE(ReadAddress("[::1]:8125", options));
  EXPECT_EQ(options.host + " " + options.port, "::1 8125");
  ASSERT_TRUE(ReadAddress("agent.internal:8125", options));
  EXPECT_EQ(options.host, "agent.internal");
  for (const std::string& text :
       {std::string(""), std::string("8125"), std::string(":8125"), std::string("host:"),
        std::string("host:x"), std::string("udp://h:1"), "unix:/" + std::string(200, 'p')}) {
    EXPECT_FALSE(ReadAddress(text, options)) << text;
  }
}

}  // namespace
}  // namespace sluice::statsd
