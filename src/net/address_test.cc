#include "net/address.h"

#include <string>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PeerAddress Peer(int family, const char* text, std::uint16_t port) {
  sockaddr_storage storage{};
  if (family == AF_INET) {
    auto& address = reinterpret_cast<sockaddr_in&>(storage);
    address.sin_port = htons(port);
    EXPECT_EQ(inet_pton(family, text, &address.sin_addr), 1);
  } else {
    auto& address = reinterpret_cast<sockaddr_in6&>(storage);
    address.sin6_port = htons(port);
    EXPECT_EQ(inet_pton(family, text, &address.sin6_addr), 1);
  }
  storage.ss_family = static_cast<sa_family_t>(family);
  return PeerAddress(storage);
}

TEST(ListenAddressTest, EveryFormIsParsed) {
  struct Case {
    std::string text;
    ListenAddress expected;
    std::string printed;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"127.0.0.1:8080", {.host = "127.0.0.1", .port = 8080}, "127.0.0.1:8080"},
           {"0.0.0.0:0", {.host = "0.0.0.0", .port = 0}, "0.0.0.0:0"},
           {"[::1]:8080", {.host = "::1", .port = 8080}, "[::1]:8080"},
           {"[::]:65535", {.host = "::", .port = 65535}, "[::]:65535"},
           {"localhost:80", {.host = "127.0.0.1", .port = 80}, "127.0.0.1:80"},
           {":8080", {.port = 8080}, ":8080"},
           {"*:8080", {.port = 8080}, ":8080"},
           {"unix:/run/s.sock", {.unix_path = "/run/s.sock"}, "unix:/run/s.sock"},
           {"unix:relative", {.unix_path = "relative"}, "unix:relative"}}) {
    const auto address = ParseListenAddress(c.text);
    ASSERT_TRUE(address) << address.error().message;
    EXPECT_EQ(*address, c.expected) << c.text;
    EXPECT_EQ(ToText(*address), c.printed);
    EXPECT_EQ(*ParseListenAddress(c.printed), c.expected);
  }
}

TEST(ListenAddressTest, OtherTextsAreRejectedWithTheExpectedForm) {
  const std::string long_path = "unix:/" + std::string(200, 'x');
  for (const auto& [text, message] : std::initializer_list<std::pair<std::string, const char*>>{
           {"", "port is missing"},
           {"8080", "port is missing"},
           {"127.0.0.1", "port is missing"},
           {"127.0.0.1:", "number from 0 to 65535"},
           {"127.0.0.1:65536", "number from 0 to 65535"},
           {"127.0.0.1:-1", "number from 0 to 65535"},
           {"127.0.0.1:80x", "number from 0 to 65535"},
           {"127.0.0.1:+80", "number from 0 to 65535"},
           {"::1:8080", "brackets, as in [::1]:8080"},
           {"[::1]", "brackets"},
           {"[127.0.0.1]:80", "no IPv6 address in the brackets"},
           {"[]:80", "no IPv6 address in the brackets"},
           {"example.org:80", "IPv4 address"},
           {"127.0.0:80", "IPv4 address"},
           {"unix:", "path is missing"},
           {long_path, "longer than 107 bytes"}}) {
    const auto address = ParseListenAddress(text);
    ASSERT_FALSE(address) << text;
    EXPECT_THAT(address.error().message, HasSubstr(message));
    EXPECT_THAT(address.error().message, HasSubstr("\"" + text + "\""));
  }
}

TEST(PeerAddressTest, Ipv4) {
  const PeerAddress peer = Peer(AF_INET, "10.1.2.3", 4711);
  EXPECT_EQ(peer.family(), PeerAddress::Family::kIpv4);
  EXPECT_EQ(peer.text(), "10.1.2.3");
  EXPECT_EQ(peer.port(), 4711);
  EXPECT_THAT(peer.bytes(), ElementsAre(10, 1, 2, 3));
  EXPECT_FALSE(peer.is_local());
  EXPECT_TRUE(Peer(AF_INET, "127.9.9.9", 1).is_local());
}

TEST(PeerAddressTest, Ipv6) {
  const PeerAddress peer = Peer(AF_INET6, "2001:db8::1", 4711);
  EXPECT_EQ(peer.family(), PeerAddress::Family::kIpv6);
  EXPECT_EQ(peer.text(), "2001:db8::1");
  EXPECT_EQ(peer.port(), 4711);
  EXPECT_THAT(peer.bytes(), SizeIs(16));
  EXPECT_FALSE(peer.is_local());
  EXPECT_TRUE(Peer(AF_INET6, "::1", 1).is_local());
  EXPECT_FALSE(Peer(AF_INET6, "::2", 1).is_local());
  EXPECT_EQ(Peer(AF_INET6, "1111:2222:3333:4444:5555:6666:7777:8888", 1).text(),
            "1111:2222:3333:4444:5555:6666:7777:8888");
}

TEST(PeerAddressTest, Ipv4InIpv6IsIpv4) {
  const PeerAddress peer = Peer(AF_INET6, "::ffff:127.0.0.1", 4711);
  EXPECT_EQ(peer.family(), PeerAddress::Family::kIpv4);
  EXPECT_EQ(peer.text(), "127.0.0.1");
  EXPECT_EQ(peer.port(), 4711);
  EXPECT_THAT(peer.bytes(), ElementsAre(127, 0, 0, 1));
  EXPECT_TRUE(peer.is_local());
}

TEST(PeerAddressTest, APeerOfAUnixSocket) {
  const PeerAddress peer;
  EXPECT_EQ(peer.text(), "unix");
  EXPECT_THAT(peer.bytes(), IsEmpty());
  EXPECT_TRUE(peer.is_local());
}

}  // namespace
}  // namespace sluice::net
