#include "transport/admission.h"

#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace sluice::transport {
namespace {

using Verdict = Admission::Verdict;

net::PeerAddress Ipv4(const char* text) {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in&>(storage);
  address.sin_family = AF_INET;
  inet_pton(AF_INET, text, &address.sin_addr);
  return net::PeerAddress(storage);
}

net::PeerAddress Ipv6(const char* text) {
  sockaddr_storage storage{};
  auto& address = reinterpret_cast<sockaddr_in6&>(storage);
  address.sin6_family = AF_INET6;
  inet_pton(AF_INET6, text, &address.sin6_addr);
  return net::PeerAddress(storage);
}

TEST(AdmissionTest, AdmitsUpToTheTotalLimit) {
  Admission admission({.connections = 2});
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(net::PeerAddress()), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.2")), Verdict::kTooMany);
  admission.Leave(Ipv4("10.0.0.1"));
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.2")), Verdict::kAdmitted);
  EXPECT_EQ(admission.size(), 2U);
}

TEST(AdmissionTest, AdmitsUpToTheLimitPerAddress) {
  Admission admission({.connections = 0, .per_address = 2});
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kTooManyFromAddress);
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.2")), Verdict::kAdmitted);
  admission.Leave(Ipv4("10.0.0.1"));
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
}

TEST(AdmissionTest, AWholeIpv6NetworkCountsAsOneAddress) {
  Admission admission({.per_address = 1});
  EXPECT_EQ(admission.Enter(Ipv6("2001:db8:0:1::1")), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(Ipv6("2001:db8:0:1:ffff::2")), Verdict::kTooManyFromAddress);
  EXPECT_EQ(admission.Enter(Ipv6("2001:db8:0:2::1")), Verdict::kAdmitted);
}

TEST(AdmissionTest, AnIpv4AddressIsTheSameOnAnIpv6Socket) {
  Admission admission({.per_address = 1});
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(Ipv6("::ffff:10.0.0.1")), Verdict::kTooManyFromAddress);
}

TEST(AdmissionTest, UnixSocketsHaveNoAddress) {
  Admission admission({.per_address = 1});
  EXPECT_EQ(admission.Enter(net::PeerAddress()), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(net::PeerAddress()), Verdict::kAdmitted);
}

TEST(AdmissionTest, ClosedConnectionsAreNotCounted) {
  Admission admission({});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&admission, peer = Ipv4("10.0.0.1")] {
      for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(admission.Enter(peer), Verdict::kAdmitted);
        admission.Leave(peer);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admission.size(), 0U);
  EXPECT_EQ(admission.addresses(), 0U);
}

TEST(AdmissionTest, ProxiesMayBeExemptFromTheLimitPerAddress) {
  const auto proxies = *identity::TrustedProxies::Parse({"10.0.0.0/8"});
  AdmissionLimits limits{.per_address = 1, .proxies = &proxies, .per_address_of_proxies = false};
  Admission admission(limits);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(Ipv4("192.0.2.1")), Verdict::kAdmitted);
  EXPECT_EQ(admission.Enter(Ipv4("192.0.2.1")), Verdict::kTooManyFromAddress);
  for (int i = 0; i < 3; ++i) admission.Leave(Ipv4("10.0.0.1"));
  EXPECT_EQ(admission.addresses(), 1U);
  limits.per_address_of_proxies = true;
  Admission strict(limits);
  EXPECT_EQ(strict.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
  EXPECT_EQ(strict.Enter(Ipv4("10.0.0.1")), Verdict::kTooManyFromAddress);
}

TEST(AdmissionTest, HalfOfTheConnectionsCountAsCrowded) {
  Admission admission({.connections = 4});
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.1")), Verdict::kAdmitted);
  EXPECT_FALSE(admission.is_crowded());
  EXPECT_EQ(admission.Enter(Ipv4("10.0.0.2")), Verdict::kAdmitted);
  EXPECT_TRUE(admission.is_crowded());
  EXPECT_FALSE(Admission({.connections = 0}).is_crowded()) << "there is no bound";
}

TEST(AdmissionTest, ThePeakIsResetWhenItIsTaken) {
  Admission admission({});
  for (int i = 0; i < 3; ++i) (void)admission.Enter(Ipv4("10.0.0.1"));
  for (int i = 0; i < 2; ++i) admission.Leave(Ipv4("10.0.0.1"));
  EXPECT_EQ(admission.TakePeak(), 3U);
  EXPECT_EQ(admission.TakePeak(), 1U);
  (void)admission.Enter(Ipv4("10.0.0.1"));
  EXPECT_EQ(admission.TakePeak(), 2U);
}

TEST(AdmissionTest, TheReserveIsBoundedToo) {
  Admission admission({.connections = 1, .reserved = 2});
  for (std::size_t i = 0; i < 2 + Admission::kOnTheirWay; ++i) {
    ASSERT_TRUE(admission.EnterReserve());
  }
  EXPECT_FALSE(admission.EnterReserve());
  admission.LeaveReserve();
  EXPECT_TRUE(admission.EnterReserve());
  EXPECT_FALSE(Admission({.connections = 1}).EnterReserve()) << "there is none";
}

}  // namespace
}  // namespace sluice::transport
