#include "transport/certificate.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/file_watcher.h"
#include "net/testing/certificates.h"

namespace sluice::transport {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

class CertificateTest : public ::testing::Test {
 protected:
  CertificateTest()
      : issued_(authority_.Issue("server")),
        options_{.certificate = issued_.certificate, .key = issued_.key},
        watcher_(FilesOf(options_)) {
    EXPECT_EQ(Load(watcher_.ReadNow(now_)).outcome, LoadOutcome::kActivated);
  }

  LoadReport Load(const FileChange& change) {
    return LoadCertificate(live_, "http_tls", options_, change, TheSystemClock().Now());
  }
  // What becomes of the files within a second; nothing if they have not changed.
  std::optional<LoadReport> LoadChanged() {
    for (const SteadyTime end = now_ + std::chrono::seconds(1); now_ < end; now_ += kPollInterval) {
      if (const auto change = watcher_.Poll(now_)) return Load(*change);
    }
    return std::nullopt;
  }

  net::testing::Authority authority_;
  net::testing::CertificateFiles issued_;
  const net::TlsServerOptions options_;
  SteadyTime now_{std::chrono::hours(1)};
  FileWatcher watcher_;
  Live<net::TlsContext> live_;
};

TEST_F(CertificateTest, UnchangedFilesAreNotLoadedAgain) {
  const auto before = live_.Active().value;
  EXPECT_FALSE(LoadChanged());
  EXPECT_EQ(Load(watcher_.ReadNow(now_)).outcome, LoadOutcome::kUnchanged);
  EXPECT_EQ(live_.Active().value, before);
  EXPECT_GT(before->expires(), TheSystemClock().Now());
}

TEST_F(CertificateTest, ChangedFilesActivateANewVersion) {
  const auto before = live_.Active().value;
  authority_.Issue("server");
  const auto report = LoadChanged();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, LoadOutcome::kActivated);
  EXPECT_EQ(report->version, 2U);
  EXPECT_NE(live_.Active().value, before);
  EXPECT_FALSE(LoadChanged());
}

TEST_F(CertificateTest, WithInvalidFilesThePreviousCertificateStays) {
  const auto before = live_.Active().value;
  std::ofstream(issued_.certificate) << "nonsense";
  const auto report = LoadChanged();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, LoadOutcome::kRefused);
  EXPECT_THAT(report->errors, ElementsAre(StartsWith("http_tls.certificate: ")));
  EXPECT_EQ(live_.Active().value, before);
  EXPECT_TRUE(live_.Status().failing);
  EXPECT_FALSE(LoadChanged()) << "they are no better than before";
}

TEST_F(CertificateTest, AMissingFileIsAnError) {
  std::filesystem::remove(issued_.key);
  const auto report = LoadChanged();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->outcome, LoadOutcome::kRefused);
  EXPECT_THAT(report->errors, ElementsAre(StartsWith("http_tls.key: ")));
}

}  // namespace
}  // namespace sluice::transport
