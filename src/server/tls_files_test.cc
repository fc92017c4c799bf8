#include "server/tls_files.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "net/testing/certificates.h"

namespace sluice::server {
namespace {

using ::testing::StartsWith;

class TlsFilesTest : public ::testing::Test {
 protected:
  TlsFilesTest()
      : issued_(authority_.Issue("server")),
        files_("http_tls", {.certificate = issued_.certificate, .key = issued_.key}) {
    EXPECT_TRUE(Load());
  }

  bool Load() {
    const auto loaded = files_.Load(TheSystemClock().Now());
    message_ = loaded ? "" : loaded.error().message;
    return loaded.ok();
  }

  net::testing::Authority authority_;
  net::testing::CertificateFiles issued_;
  TlsFiles files_;
  std::string message_;
};

TEST_F(TlsFilesTest, FilesThatStayAsTheyAreHaveNotChanged) {
  EXPECT_FALSE(files_.HaveChanged());
  EXPECT_FALSE(files_.HaveChanged());
  EXPECT_EQ(files_.good_reloads(), 0U);
  EXPECT_GT(files_.expires_seconds(), 0);
}

TEST_F(TlsFilesTest, FilesHaveChangedOnceTheyAreLeftAlone) {
  authority_.Issue("server");
  EXPECT_FALSE(files_.HaveChanged()) << "whoever wrote it may not be done";
  EXPECT_TRUE(files_.HaveChanged());
  const auto before = files_.context();
  EXPECT_TRUE(Load());
  EXPECT_NE(files_.context(), before);
  EXPECT_FALSE(files_.HaveChanged());
  EXPECT_EQ(files_.good_reloads(), 1U);
}

TEST_F(TlsFilesTest, BadFilesChangeNothing) {
  const auto before = files_.context();
  std::ofstream(issued_.certificate) << "nonsense";
  EXPECT_FALSE(Load());
  EXPECT_THAT(message_, StartsWith("http_tls.certificate: "));
  EXPECT_EQ(files_.context(), before);
  EXPECT_EQ(files_.failed_reloads(), 1U);
  EXPECT_FALSE(files_.HaveChanged()) << "they are no better than before";
  EXPECT_FALSE(files_.HaveChanged());
}

TEST_F(TlsFilesTest, AFileThatIsGoneIsAChange) {
  std::filesystem::remove(issued_.key);
  files_.HaveChanged();
  EXPECT_TRUE(files_.HaveChanged());
}

TEST(TlsOptionsTest, SettingsMeanWhatTheySay) {
  const net::TlsServerOptions options = TlsOptionsOf({.listen = {":8443"},
                                                      .certificate = "c",
                                                      .key = "k",
                                                      .minimum_version = "1.3",
                                                      .client_certificates = "required",
                                                      .client_ca = "a"},
                                                     "http/1.1", "no");
  EXPECT_EQ(options.certificate, "c");
  EXPECT_EQ(options.key, "k");
  EXPECT_EQ(options.minimum, net::TlsVersion::k13);
  EXPECT_EQ(options.client_certificates, net::ClientCertificates::kRequired);
  EXPECT_EQ(options.client_ca, "a");
  EXPECT_EQ(options.alpn, std::vector<std::string>{"http/1.1"});
  EXPECT_EQ(options.plain_answer, "no");
  EXPECT_EQ(TlsOptionsOf({.client_certificates = "optional"}, "", "").client_certificates,
            net::ClientCertificates::kOptional);
  EXPECT_TRUE(TlsOptionsOf({}, "", "").alpn.empty());
}

}  // namespace
}  // namespace sluice::server
