#include "base/network_table.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/seed.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

std::vector<Network> Networks(const std::vector<std::string>& texts) {
  std::vector<Network> networks;
  for (const std::string& text : texts) networks.push_back(ParseNetwork(text).value());
  return networks;
}

std::vector<std::uint32_t> All(const NetworkTable& table, const Address& address) {
  std::vector<std::uint32_t> found;
  table.ForEach(address, [&](std::uint32_t network) { found.push_back(network); });
  std::sort(found.begin(), found.end());
  return found;
}

TEST(NetworkTable, FindsTheLongestAndAll) {
  const NetworkTable table(Networks({"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::/0", "10.1.0.0/16",
                                     "2001:db8::/32", "0.0.0.0/0"}));
  const auto at = [](const char* text) { return ParseAddress(text).value(); };
  EXPECT_EQ(table.Find(at("10.1.2.3")), 2U);
  EXPECT_EQ(table.Find(at("10.1.2.4")), 1U);
  EXPECT_EQ(table.Find(at("11.1.2.4")), 6U);
  EXPECT_EQ(table.Find(at("2001:db8::1")), 5U);
  EXPECT_THAT(All(table, at("10.1.2.3")), ElementsAre(0, 1, 2, 4, 6));
  EXPECT_THAT(All(table, at("2001:db9::1")), ElementsAre(3));
}

TEST(NetworkTable, WithoutNetworksNothingIsFound) {
  const Address address = ParseAddress("1.2.3.4").value();
  EXPECT_EQ(NetworkTable().Find(address), NetworkTable::kNone);
  EXPECT_EQ(NetworkTable(std::span<const Network>()).Find(address), NetworkTable::kNone);
}

TEST(NetworkTable, AgreesWithALinearSearch) {
  const unsigned seed = TestSeed();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  // Few different bits, so that networks hold one another.
  const auto address = [&]() -> Address {
    const std::uint64_t some = random() & 0x8100'0000'0000'0081;
    if (random() % 2 == 0) return {0, 0xFFFFULL << 32 | ((random() & 0x8180'0101))};
    return {some, random() & 0x8100'0000'0000'0081};
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<Network> networks(random() % 40);
    for (Network& network : networks) {
      const Address base = address();
      const auto prefix =
          static_cast<std::uint8_t>(base.is_v4() ? 96 + random() % 33 : random() % 129);
      network = {Masked(base, prefix), prefix, base.is_v4()};
      // A short prefix of an IPv6 network may be all zeros, which is no IPv4 address.
      if (network.base.is_v4() != network.v4) network.v4 = network.base.is_v4();
    }
    const NetworkTable table(networks);
    for (int i = 0; i < 100; ++i) {
      const Address asked = address();
      std::vector<std::uint32_t> expected;
      for (std::uint32_t n = 0; n < networks.size(); ++n) {
        if (networks[n].Contains(asked)) expected.push_back(n);
      }
      ASSERT_EQ(All(table, asked), expected);
      const std::uint32_t best = table.Find(asked);
      ASSERT_EQ(best == NetworkTable::kNone, expected.empty());
      for (const std::uint32_t n : expected) {
        ASSERT_GE(networks[best].prefix, networks[n].prefix);
        if (networks[best].prefix == networks[n].prefix) {
          ASSERT_LE(best, n);
        }
      }
    }
  }
}

}  // namespace
}  // namespace sluice
