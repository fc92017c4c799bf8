#include "identity/client_address.h"

#include <array>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"
#include "identity/testing/slow_walk.h"

namespace sluice::identity {
namespace {

using Lines = std::vector<std::string>;

std::string Text(const std::optional<Address>& address) {
  if (!address) return "unknown";
  std::array<char, kMaxAddressText> out;
  return std::string(FormatAddress(*address, out));
}

const TrustedProxies& Proxies() {
  static const TrustedProxies proxies =
      TrustedProxies::Parse({"10.0.0.0/8", "2001:db8:f::/48", "127.0.0.1"}).value();
  return proxies;
}

struct Attempt {
  const char* peer;
  AddressHeader header;
  Lines lines;
  const char* client;
};

constexpr auto kFor = AddressHeader::kXForwardedFor;
constexpr auto kReal = AddressHeader::kXRealIp;
constexpr auto kForwarded = AddressHeader::kForwarded;

void Expect(const std::vector<Attempt>& attempts) {
  for (const Attempt& attempt : attempts) {
    const std::string got =
        Text(testing::AskFor(ParseAddress(attempt.peer), attempt.lines, attempt.header, Proxies()));
    EXPECT_EQ(got, attempt.client)
        << "from " << attempt.peer << " with " << ::testing::PrintToString(attempt.lines);
  }
}

TEST(ClientAddress, HeadersOfUntrustedPeersAreIgnored) {
  Expect({
      {"203.0.113.9", kFor, {"1.2.3.4"}, "203.0.113.9"},
      {"203.0.113.9", kFor, {"1.2.3.4, 10.0.0.1"}, "203.0.113.9"},
      {"203.0.113.9", kReal, {"1.2.3.4"}, "203.0.113.9"},
      {"203.0.113.9", kForwarded, {"for=1.2.3.4"}, "203.0.113.9"},
      {"11.0.0.1", kFor, {"1.2.3.4"}, "11.0.0.1"},
      {"2001:db8:e::1", kFor, {"1.2.3.4"}, "2001:db8:e::1"},
  });
}

TEST(ClientAddress, ForgedAddressesAreLeftOfTheProxysAddress) {
  Expect({
      {"10.0.0.1", kFor, {"203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"1.1.1.1, 203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"10.0.0.7, 203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"127.0.0.1,203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"1.1.1.1,203.0.113.9, 10.0.0.2,10.9.9.9"}, "203.0.113.9"},
      {"2001:db8:f::1", kFor, {"1.1.1.1, 203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1, for=203.0.113.9;proto=https"}, "203.0.113.9"},
      {"10.0.0.1", kForwarded, {"for=10.0.0.2, for=203.0.113.9, FOR=10.0.0.3"}, "203.0.113.9"},
  });
}

TEST(ClientAddress, RepeatedLinesAreOneList) {
  Expect({
      {"10.0.0.1", kFor, {"1.1.1.1", "203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"1.1.1.1", "203.0.113.9", "10.0.0.2"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"203.0.113.9", ""}, "203.0.113.9"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1", "for=203.0.113.9", "for=10.0.0.2"}, "203.0.113.9"},
  });
}

TEST(ClientAddress, TheSearchStopsAtInvalidText) {
  Expect({
      {"10.0.0.1", kFor, {"1.1.1.1, unknown"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"1.1.1.1, nonsense, 10.0.0.2"}, "10.0.0.2"},
      {"10.0.0.1", kFor, {"1.1.1.1, 1.2.3, 10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
      {"10.0.0.1", kFor, {"1.1.1.1 203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"203.0.113.9\t1"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"0203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"203.0.113"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"fe80::1%eth0"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"\"203.0.113.9\""}, "10.0.0.1"},
      // A list that was cut off.
      {"10.0.0.1", kFor, {"203.0.113.9, 10.0.0"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"2001:db8::, 2001:db8:f:"}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1, for=unknown"}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1, for=_hidden"}, "10.0.0.1"},
      {"10.0.0.1",
       kForwarded,
       {"for=1.1.1.1, for=_SEVKISEK;by=203.0.113.43, for=10.0.0.2"},
       "10.0.0.2"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1, by=203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1, for=203.0.113.9;for=203.0.113.8"}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1, for=203.0.113.9;pro"}, "10.0.0.1"},
  });
}

TEST(ClientAddress, EmptyElementsAndBlanksAreSkipped) {
  Expect({
      {"10.0.0.1", kFor, {",,  ,203.0.113.9 ,, 10.0.0.2,"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {" \t203.0.113.9\t "}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"", " ", ","}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {" , for=203.0.113.9 ; proto=http ,, "}, "203.0.113.9"},
  });
}

TEST(ClientAddress, IfAllAreTrustedTheLeftmostIsUsed) {
  Expect({
      {"10.0.0.1", kFor, {"10.1.1.1, 10.2.2.2", "10.3.3.3"}, "10.1.1.1"},
      {"10.0.0.1", kForwarded, {"for=10.1.1.1", "for=\"[2001:db8:f::2]\""}, "10.1.1.1"},
      {"10.0.0.1", kFor, {}, "10.0.0.1"},
  });
}

TEST(ClientAddress, EveryNotationOfAnAddressIsEqual) {
  Expect({
      {"::ffff:10.0.0.1", kFor, {"1.1.1.1, ::ffff:203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"::FFFF:CB00:7109"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"1.1.1.1, 203.0.113.9, ::ffff:10.0.0.2"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"203.0.113.9:4711"}, "203.0.113.9"},
      {"10.0.0.1", kFor, {"[2001:DB8:0:0::1]:443"}, "2001:db8::1"},
      {"10.0.0.1", kFor, {"[2001:db8::1]"}, "2001:db8::1"},
      {"10.0.0.1", kFor, {"2001:db8::203.0.113.9"}, "2001:db8::cb00:7109"},
      {"10.0.0.1", kFor, {"203.0.113.9, 2001:DB8:000F:0:0:0:0:1"}, "203.0.113.9"},
      {"10.0.0.1", kForwarded, {"for=\"[2001:db8::1]:4711\""}, "2001:db8::1"},
      {"10.0.0.1", kForwarded, {"for=\"203.0.113.9:_port\""}, "203.0.113.9"},
      {"10.0.0.1", kForwarded, {"For=\"\\203.0.113.9\""}, "203.0.113.9"},
      {"10.0.0.1", kForwarded, {"for=[2001:db8::1]"}, "2001:db8::1"},
  });
}

TEST(ClientAddress, MalformedAddressesAreIgnored) {
  Expect({
      {"10.0.0.1", kFor, {"203.0.113.9:"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"203.0.113.9:123456"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"203.0.113.9:http"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"[203.0.113.9]"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"[2001:db8::1"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"[2001:db8::1]443"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {"203.0.113.9/32"}, "10.0.0.1"},
      {"10.0.0.1", kFor, {std::string("203.0.113.9\0", 12)}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=\"2001:db8::1\""}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for =203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=\"\""}, "10.0.0.1"},
  });
}

TEST(ClientAddress, AnOpenQuoteHidesNoProxysLine) {
  Expect({
      // The proxy adds a line of its own.
      {"10.0.0.1", kForwarded, {"for=1.1.1.1;x=\"", "for=203.0.113.9"}, "203.0.113.9"},
      // The proxy adds to the client's line: its parts can't be distinguished any more.
      {"10.0.0.1", kForwarded, {"for=1.1.1.1;x=\", for=203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1;x=\", for=\"[2001:db8::1]\""}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=1.1.1.1;x=\"\\, for=203.0.113.9;host=\"a\""}, "10.0.0.1"},
      {"10.0.0.1", kForwarded, {"for=\"1.1.1.1, for=2.2.2.2\", for=203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1",
       kForwarded,
       {"for=1.1.1.1;host=\"a,b\\\",for=2.2.2.2\", for=203.0.113.9"},
       "203.0.113.9"},
  });
}

TEST(ClientAddress, XRealIpCountsOnlyIfItIsUnique) {
  Expect({
      {"10.0.0.1", kReal, {"203.0.113.9"}, "203.0.113.9"},
      {"10.0.0.1", kReal, {" 2001:DB8::1 "}, "2001:db8::1"},
      {"10.0.0.1", kReal, {"10.0.0.2"}, "10.0.0.2"},
      {"10.0.0.1", kReal, {"1.1.1.1", "203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kReal, {"1.1.1.1, 203.0.113.9"}, "10.0.0.1"},
      {"10.0.0.1", kReal, {}, "10.0.0.1"},
  });
}

TEST(ClientAddress, OnlyTheConfiguredHeaderIsUsed) {
  const std::vector<HeaderLine> lines = {{"X-Forwarded-For", "1.1.1.1"},
                                         {"X-Real-IP", "2.2.2.2"},
                                         {"Forwarded", "for=3.3.3.3"},
                                         {"True-Client-IP", "4.4.4.4"}};
  const HeaderSpan<HeaderLine> headers(lines);
  const auto peer = ParseAddress("10.0.0.1");
  const auto ask = [&](AddressHeader header) {
    return Text(FindClientAddress(peer, headers, header, Proxies()));
  };
  EXPECT_EQ(ask(kFor), "1.1.1.1");
  EXPECT_EQ(ask(kReal), "2.2.2.2");
  EXPECT_EQ(ask(kForwarded), "3.3.3.3");
  EXPECT_EQ(ask(AddressHeader::kNone), "10.0.0.1");
}

TEST(ClientAddress, UnixSocketsAreTrustedOnlyIfConfigured) {
  const Lines lines = {"203.0.113.9"};
  const TrustedProxies unix_too = TrustedProxies::Parse({"unix"}).value();
  EXPECT_EQ(Text(testing::AskFor(std::nullopt, lines, kFor, Proxies())), "unknown");
  EXPECT_EQ(Text(testing::AskFor(std::nullopt, lines, kFor, unix_too)), "203.0.113.9");
  EXPECT_EQ(Text(testing::AskFor(std::nullopt, {"what?"}, kFor, unix_too)), "unknown");
}

TEST(TrustedProxies, InvalidNetworksAreRejected) {
  const auto proxies = TrustedProxies::Parse({"10.0.0.0/8", "10.0.0.1/8"});
  ASSERT_FALSE(proxies.ok());
  EXPECT_EQ(proxies.error().message,
            "trusted proxy \"10.0.0.1/8\": has bits after its prefix; did you mean 10.0.0.0/8?");
  EXPECT_FALSE(TrustedProxies::Parse({"localhost"}).ok());
  EXPECT_FALSE(TrustedProxies::Parse({""}).ok());
}

TEST(ClientAddress, AgreesWithTheModelOnRandomHeaders) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  constexpr std::array<std::string_view, 30> kParts = {"10.0.0.1",
                                                       "10.0.0.2",
                                                       "203.0.113.9",
                                                       "1.1.1.1",
                                                       "2001:db8::1",
                                                       "[2001:db8:f::1]",
                                                       ",",
                                                       ", ",
                                                       " ",
                                                       "\t",
                                                       "for=",
                                                       "For=",
                                                       "\"",
                                                       ";",
                                                       "by=",
                                                       "unknown",
                                                       "_hidden",
                                                       ":80",
                                                       "\\",
                                                       "proto=https",
                                                       "x",
                                                       "[",
                                                       "]",
                                                       ",",
                                                       ", for=",
                                                       ",for=10.0.0.1",
                                                       "::ffff:10.0.0.3",
                                                       "for=1.2.3.4,",
                                                       "\",",
                                                       "10.0.0.9,"};
  int found = 0;
  for (int i = 0; i < 200'000; ++i) {
    Lines lines(random() % 4);
    for (std::string& line : lines) {
      for (auto n = random() % 9; n > 0; --n) line += kParts[random() % kParts.size()];
    }
    const AddressHeader header = random() % 2 == 0 ? kFor : kForwarded;
    const auto peer = ParseAddress(random() % 8 == 0 ? "203.0.113.1" : "10.0.0.1");
    const auto expected = testing::SlowWalk(peer, lines, header, Proxies());
    ASSERT_EQ(Text(testing::AskFor(peer, lines, header, Proxies())), Text(expected))
        << ::testing::PrintToString(lines);
    if (expected != peer) ++found;
  }
  EXPECT_GT(found, 1000);
}

}  // namespace
}  // namespace sluice::identity
