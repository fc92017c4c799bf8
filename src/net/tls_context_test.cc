#include "net/tls_context.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "net/testing/certificates.h"

namespace sluice::net {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class TlsContextTest : public ::testing::Test {
 protected:
  static std::string Diagnostic(const TlsServerOptions& options) {
    const auto context = TlsContext::Load(options, TheSystemClock().Now());
    return context ? "none" : context.error().message;
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(authority_.File(name)) << text;
    return authority_.File(name);
  }

  testing::Authority authority_;
  testing::CertificateFiles files_ = authority_.Issue("server");
};

TEST_F(TlsContextTest, GoodFilesAreLoaded) {
  const WallTime now = TheSystemClock().Now();
  const auto context =
      TlsContext::Load({.certificate = files_.certificate, .key = files_.key}, now);
  ASSERT_TRUE(context) << context.error().message;
  EXPECT_THAT((*context)->warnings(), IsEmpty());
  EXPECT_GT((*context)->expires(), now + seconds(3000));
  EXPECT_LT((*context)->expires(), now + seconds(3700));
}

TEST_F(TlsContextTest, KeyAndCertificateMayBeInOneFile) {
  std::ifstream certificate(files_.certificate);
  std::ifstream key(files_.key);
  std::ofstream(authority_.File("both.pem")) << key.rdbuf() << certificate.rdbuf();
  EXPECT_EQ(Diagnostic({.certificate = authority_.File("both.pem")}), "none");
}

TEST_F(TlsContextTest, MissingFilesAreNamed) {
  EXPECT_EQ(Diagnostic({.certificate = "/nowhere/c.pem"}),
            "certificate: /nowhere/c.pem can't be read: No such file or directory");
  EXPECT_THAT(Diagnostic({.certificate = files_.certificate, .key = "/nowhere/k.pem"}),
              StartsWith("key: /nowhere/k.pem can't be read"));
  EXPECT_THAT(Diagnostic({.certificate = files_.certificate,
                          .key = files_.key,
                          .client_certificates = ClientCertificates::kOptional,
                          .client_ca = "/nowhere/ca.pem"}),
              StartsWith("client_ca: /nowhere/ca.pem can't be read"));
}

TEST_F(TlsContextTest, InvalidFilesAreNamed) {
  const std::string other = Write("other.pem", "hello\n");
  EXPECT_THAT(Diagnostic({.certificate = other, .key = files_.key}),
              StartsWith("certificate: " + other + " holds no certificate in PEM"));
  EXPECT_THAT(Diagnostic({.certificate = files_.certificate, .key = other}),
              StartsWith("key: " + other + " holds no private key in PEM"));
  EXPECT_THAT(Diagnostic({.certificate = files_.certificate,
                          .key = files_.key,
                          .client_certificates = ClientCertificates::kRequired,
                          .client_ca = other}),
              StartsWith("client_ca: " + other + " holds no certificate in PEM"));
  EXPECT_THAT(Diagnostic({.certificate = Write("empty.pem", "")}), HasSubstr("is empty"));
}

TEST_F(TlsContextTest, AKeyOfAnotherCertificateIsRefused) {
  const auto other = authority_.Issue("other");
  EXPECT_EQ(Diagnostic({.certificate = files_.certificate, .key = other.key}),
            "key: " + other.key + " does not belong to the certificate " + files_.certificate);
}

TEST_F(TlsContextTest, NoPassphraseIsPromptedFor) {
  const auto locked = authority_.Issue("locked", {.passphrase = "open sesame"});
  EXPECT_THAT(Diagnostic({.certificate = locked.certificate, .key = locked.key}),
              HasSubstr("needs a passphrase"));
}

TEST_F(TlsContextTest, ExpiredCertificatesCauseOnlyWarnings) {
  const auto old = authority_.Issue("old", {.ends_in_seconds = -60});
  const auto expired =
      TlsContext::Load({.certificate = old.certificate, .key = old.key}, TheSystemClock().Now());
  ASSERT_TRUE(expired) << expired.error().message;
  EXPECT_THAT((*expired)->warnings(), ElementsAre(HasSubstr("old.pem has expired")));
  const auto early = authority_.Issue("early", {.begins_in_seconds = 600});
  const auto future = TlsContext::Load({.certificate = early.certificate, .key = early.key},
                                       TheSystemClock().Now());
  ASSERT_TRUE(future) << future.error().message;
  EXPECT_THAT((*future)->warnings(), ElementsAre(HasSubstr("early.pem is not valid yet")));
}

}  // namespace
}  // namespace sluice::net
