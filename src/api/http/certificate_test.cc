#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/loop.h"
#include "api/resp/session.h"
#include "api/testing/http_server.h"

// What clients prove with their certificates, and what they only say.
namespace sluice::api {
namespace {

using ::testing::StartsWith;

constexpr std::string_view kRules = R"(
rules:
  - { id: alice, match: { tls_cn: alice }, per: tls_subject, algorithm: fixed_window, limit: 2, window: 1h }
  - { id: rest, match: { tls_cn: { absent: true } }, algorithm: fixed_window, limit: 9, window: 1h }
)";

class CertificateTest : public testing::HttpTest {
 protected:
  void SetUp() override { Load(kRules); }

  void ComeAs(const Peer& peer) {
    peer_ = peer;
    Start();
  }
  std::string Limit(const testing::Heard& heard) { return heard.Header("X-RateLimit-Limit"); }

  const Peer alice_{.address = "10.0.0.7",
                    .asked_for_certificate = true,
                    .tls_subject = "CN=alice,O=Acme",
                    .tls_cn = "alice"};
  const Peer without_certificate_{.address = "10.0.0.8", .asked_for_certificate = true};
};

TEST_F(CertificateTest, RulesSeeWhoTheClientIs) {
  ComeAs(alice_);
  EXPECT_EQ(Limit(Check("key=x")), "2");
  EXPECT_EQ(Limit(CheckBody(R"({"attributes":{"user":"u"}})")), "2");
  EXPECT_EQ(Check("endpoint=/x").status, 429);
  EXPECT_EQ(Get("/api/ping").status, 429);
}

TEST_F(CertificateTest, AClientCannotClaimAnotherCertificate) {
  ComeAs(without_certificate_);
  EXPECT_EQ(Limit(Check("tls_cn=alice&tls_subject=CN%3Dalice")), "9");
  EXPECT_EQ(Limit(CheckBody(R"({"attributes":{"tls_cn":"alice"}})")), "9");
  EXPECT_EQ(Limit(CheckBody(R"({"key":"x"})")), "9");
  ComeAs(alice_);
  EXPECT_EQ(Limit(Check("tls_cn=bob")), "2");
}

TEST_F(CertificateTest, WhereNoneIsAskedForItIsAnAttributeLikeOthers) {
  EXPECT_EQ(Limit(Check("tls_cn=alice&tls_subject=a")), "2");
  EXPECT_EQ(Limit(Check("key=x")), "9");
}

TEST_F(CertificateTest, AdministratorsSpeakOfOthers) {
  services_.token = "token";
  ComeAs(alice_);
  EXPECT_EQ(Check("key=x").Header("X-RateLimit-Remaining"), "1");
  Peer operator_peer = alice_;
  operator_peer.tls_subject = "CN=operator";
  operator_peer.tls_cn = "operator";
  ComeAs(operator_peer);
  EXPECT_EQ(
      Request("DELETE", "/api/v1/rate-limit/reset?tls_cn=alice&tls_subject=CN%3Dalice%2CO%3DAcme",
              "", "Authorization: Bearer token\r\n")
          .status,
      204);
  ComeAs(alice_);
  EXPECT_EQ(Check("key=x").Header("X-RateLimit-Remaining"), "1");
}

TEST_F(CertificateTest, TheRedisProtocolSeesItToo) {
  RespLoop loop(services_);
  RespSession alice(loop, transport_, alice_);
  alice.Receive("SLUICE.CHECK user u\r\n");
  EXPECT_THAT(alice.output(), StartsWith("*8\r\n:1\r\n:2\r\n:1\r\n"));
  RespSession anonymous(loop, transport_, without_certificate_);
  anonymous.Receive("SLUICE.CHECK tls_cn alice ip 10.0.0.8\r\n");
  EXPECT_THAT(anonymous.output(), StartsWith("*8\r\n:1\r\n:9\r\n:8\r\n"));
}

}  // namespace
}  // namespace sluice::api
