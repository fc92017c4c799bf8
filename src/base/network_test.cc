#include "base/network.h"

#include <array>
#include <cstring>
#include <random>
#include <string>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice {
namespace {

std::string Formatted(std::string_view text) {
  const auto address = ParseAddress(text);
  if (!address) return "no address";
  std::array<char, kMaxAddressText> out;
  return std::string(FormatAddress(*address, out));
}

bool Contains(std::string_view network, std::string_view address) {
  return ParseNetwork(network).value().Contains(ParseAddress(address).value());
}

// What the C library reads; IPv4 as mapped IPv6.
std::optional<Address> FromLibrary(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  if (inet_pton(AF_INET, text.c_str(), bytes.data() + 12) == 1) {
    bytes[10] = bytes[11] = 0xFF;
  } else if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) {
    return std::nullopt;
  }
  Address address;
  for (std::size_t i = 0; i < 8; ++i) {
    address.high = address.high << 8 | bytes[i];
    address.low = address.low << 8 | bytes[i + 8];
  }
  return address;
}

TEST(Address, IsParsedStrictly) {
  for (const char* text : {"",
                           "1",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.256",
                           "01.2.3.4",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "1..2.3",
                           "1.2.3.",
                           ".1.2.3",
                           "0x1.2.3.4",
                           ":",
                           ":::",
                           "1:2",
                           "::1::",
                           "1::2::3",
                           "12345::",
                           "::g",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8::",
                           "::1:2:3:4:5:6:7:8",
                           "1:",
                           ":1",
                           "fe80::1%eth0",
                           "[::1]",
                           "::1.2.3",
                           "::1.2.3.4.5",
                           "::1.2.3.4:5",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "1.2.3.4:80",
                           "1.2.3.4::",
                           "::01.2.3.4",
                           "::12345.1.1.1"}) {
    EXPECT_EQ(ParseAddress(text), std::nullopt) << text;
  }
}

TEST(Address, HasOneTextForm) {
  EXPECT_EQ(Formatted("1.2.3.4"), "1.2.3.4");
  EXPECT_EQ(Formatted("255.0.10.100"), "255.0.10.100");
  EXPECT_EQ(Formatted("2001:DB8:0:0:0:0:0:1"), "2001:db8::1");
  EXPECT_EQ(Formatted("::"), "::");
  EXPECT_EQ(Formatted("::1"), "::1");
  EXPECT_EQ(Formatted("1::"), "1::");
  EXPECT_EQ(Formatted("1:0:2:0:0:3:0:0"), "1:0:2::3:0:0");
  EXPECT_EQ(Formatted("1:0:2:3:4:5:6:7"), "1:0:2:3:4:5:6:7");
  EXPECT_EQ(Formatted("2001:db8::1.2.3.4"), "2001:db8::102:304");
  EXPECT_EQ(Formatted("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff").size(), kMaxAddressText);
}

TEST(Address, MappedIpv4IsTheIpv4AddressByItsBits) {
  for (const char* text : {"::ffff:1.2.3.4", "::FFFF:102:304", "0:0:0:0:0:ffff:102:304"}) {
    EXPECT_EQ(ParseAddress(text), ParseAddress("1.2.3.4")) << text;
    EXPECT_EQ(Formatted(text), "1.2.3.4");
  }
  for (const char* text :
       {"2001:db8::1.2.3.4", "::1.2.3.4", "::fffe:1.2.3.4", "64:ff9b::1.2.3.4"}) {
    EXPECT_FALSE(ParseAddress(text).value().is_v4()) << text;
  }
}

TEST(Address, IsParsedLikeInTheCLibrary) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::array<std::string_view, 14> kParts = {
      ":", "::", ":", ".", "1", "0", "ff", "FFFF", "255", "256", "00", "ffff:", "1.2.3.4", "db8:"};
  int right = 0;
  for (int i = 0; i < 300'000; ++i) {
    std::string text;
    for (auto n = random() % 12; n > 0; --n) text += kParts[random() % kParts.size()];
    const auto expected = FromLibrary(text);
    ASSERT_EQ(ParseAddress(text), expected) << text;
    if (!expected) continue;
    ++right;
    ASSERT_EQ(ParseAddress(Formatted(text)), expected) << text << " as " << Formatted(text);
  }
  EXPECT_GT(right, 1000);
}

TEST(Network, HoldsTheAddressesThatBeginWithItsBits) {
  EXPECT_TRUE(Contains("10.0.0.0/8", "10.255.1.2"));
  EXPECT_FALSE(Contains("10.0.0.0/8", "11.0.0.0"));
  EXPECT_TRUE(Contains("10.1.2.3", "10.1.2.3"));
  EXPECT_FALSE(Contains("10.1.2.3", "10.1.2.2"));
  EXPECT_TRUE(Contains("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(Contains("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_TRUE(Contains("2001:db8::/64", "2001:db8::ffff:0:0:1"));
  EXPECT_TRUE(Contains("2001:db8::/65", "2001:db8::7fff:0:0:1"));
  EXPECT_FALSE(Contains("2001:db8::/65", "2001:db8::8000:0:0:1"));
}

TEST(Network, Ipv4AndIpv6AreSeparate) {
  EXPECT_TRUE(Contains("0.0.0.0/0", "1.2.3.4"));
  EXPECT_FALSE(Contains("0.0.0.0/0", "::1"));
  EXPECT_TRUE(Contains("::/0", "::1"));
  EXPECT_FALSE(Contains("::/0", "1.2.3.4"));
  EXPECT_FALSE(Contains("::/0", "::ffff:1.2.3.4"));
  EXPECT_TRUE(Contains("::ffff:10.0.0.0/104", "10.1.1.1"));
  EXPECT_TRUE(Contains("::ffff:0:0/96", "10.1.1.1"));
  EXPECT_TRUE(Contains("10.0.0.0/8", "::ffff:10.1.1.1"));
}

TEST(Network, ErrorsAreExplained) {
  EXPECT_EQ(NetworkProblem("10.0.0.0/8"), std::nullopt);
  EXPECT_EQ(NetworkProblem("10.0.0.1/8"), "has bits after its prefix; did you mean 10.0.0.0/8?");
  EXPECT_EQ(NetworkProblem("2001:db8::1/32"),
            "has bits after its prefix; did you mean 2001:db8::/32?");
  EXPECT_EQ(NetworkProblem("10.0.0.0/33"), "the prefix '33' is no number from 0 to 32");
  EXPECT_EQ(NetworkProblem("::/129"), "the prefix '129' is no number from 0 to 128");
  EXPECT_EQ(NetworkProblem("10.0.0.0/"), "the prefix '' is no number from 0 to 32");
  EXPECT_EQ(NetworkProblem("10.0.0.0/08"), "the prefix '08' is no number from 0 to 32");
  EXPECT_EQ(NetworkProblem("10.0.0/8"), "'10.0.0' is no IPv4 or IPv6 address");
  for (const char* text : {"10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0/8"}) {
    EXPECT_EQ(ParseNetwork(text), std::nullopt) << text;
  }
}

TEST(Network, AMistypedNetworkIsNotTreatedAsAKey) {
  for (const char* text : {"10.0.0/8", "10.0.0.1/8", "1.2.3.400", "2001:db8::g/32", "fe80::1::2"}) {
    EXPECT_EQ(LooksLikeNetwork(text), std::string_view(text).find('g') == std::string_view::npos)
        << text;
  }
  for (const char* text : {"sk_prod_*", "10", "1.2", "a.b.c.d", "team:7", "dead/beef"}) {
    EXPECT_FALSE(LooksLikeNetwork(text)) << text;
  }
}

}  // namespace
}  // namespace sluice
