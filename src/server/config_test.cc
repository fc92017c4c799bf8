#include "server/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigTest() {
    sources_.environment = [this](const char* name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? nullptr : found->second.c_str();
    };
  }
  ~ConfigTest() override { std::filesystem::remove(path_); }

  void WriteFile(std::string_view text) {
    path_ = (std::filesystem::temp_directory_path() / "sluice-config-XXXXXX").string();
    const int file = mkstemp(path_.data());
    ASSERT_GE(file, 0);
    ASSERT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    close(file);
    sources_.file = path_;
  }

  std::string Mistakes() {
    const auto config = ReadConfig(sources_);
    return config ? "none" : config.error().message;
  }

  std::map<std::string, std::string> environment_;
  ConfigSources sources_;
  std::string path_;
};

TEST_F(ConfigTest, WithoutAnythingTheDefaultsHold) {
  const Config config = *ReadConfig(sources_);
  EXPECT_THAT(config.http_listen, ElementsAre("127.0.0.1:8080"));
  EXPECT_THAT(config.resp_listen, ElementsAre("127.0.0.1:6380"));
  EXPECT_THAT(config.grpc_listen, ElementsAre("127.0.0.1:8081"));
  EXPECT_EQ(config.store, "memory");
}

TEST_F(ConfigTest, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  WriteFile("threads: 1\nhttp: { listen: '127.0.0.1:1' }\nlog: { level: warn }\n");
  environment_["SLUICE_HTTP_LISTEN"] = "127.0.0.1:2";
  environment_["SLUICE_LOG_LEVEL"] = "debug";
  sources_.flags = {{"http.listen", "127.0.0.1:3"}};
  const Config config = *ReadConfig(sources_);
  EXPECT_EQ(config.threads, 1U);
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_THAT(config.http_listen, ElementsAre("127.0.0.1:3"));
}

TEST_F(ConfigTest, ListsAndLabelsMayBeWrittenAsYaml) {
  WriteFile(
      "http: { listen: ['127.0.0.1:1', 'unix:/run/s.sock'] }\nresp: { listen: none }\n"
      "metrics: { labels: { region: eu, zone: b } }\n");
  const Config config = *ReadConfig(sources_);
  EXPECT_THAT(config.http_listen, ElementsAre("127.0.0.1:1", "unix:/run/s.sock"));
  EXPECT_TRUE(config.resp_listen.empty());
  EXPECT_THAT(config.metrics_labels, ::testing::Contains(::testing::Pair("zone", "b")));
}

TEST_F(ConfigTest, EveryMistakeIsToldWithItsPlace) {
  WriteFile("threads: many\nhttp:\n  lissten: x\nlimits: { idle_timeout: 5 }\n");
  environment_["SLUICE_ENFORCEMENT"] = "maybe";
  sources_.flags = {{"memory.max_keys", "0"}};
  EXPECT_THAT(Mistakes(), AllOf(HasSubstr(path_ + ":1:1: threads: 'many' is not a whole number"),
                                HasSubstr(path_ + ":3:3: there is no setting 'http.lissten'"),
                                HasSubstr("limits.idle_timeout: '5' is not a duration"),
                                HasSubstr("SLUICE_ENFORCEMENT: 'maybe' is none of on shadow off"),
                                HasSubstr("--memory-max-keys: '0' is not a whole number")));
}

TEST_F(ConfigTest, AddressesAndUrlsAreMistakesAsOthersAre) {
  WriteFile("http: { listen: ['127.0.0.1:1', 'localhost:99999'] }\n");
  sources_.flags = {{"resp.listen", "6380x"}, {"store", "mysql://db"}, {"threads", "x"}};
  EXPECT_THAT(Mistakes(), AllOf(HasSubstr(path_ + ":1:9: http.listen: "), HasSubstr("99999"),
                                HasSubstr("--resp-listen: "), HasSubstr("6380x"),
                                HasSubstr("--store: "), HasSubstr("--threads: 'x'")));
}

TEST_F(ConfigTest, ProxiesTellNothingThatIsFoundOutOtherwise) {
  sources_.flags = {{"forward_auth.headers", "X-Tier=tier,X-Client=ip"}};
  EXPECT_THAT(Mistakes(), HasSubstr("'X-Client': `ip` is found out in another way"));
  sources_.flags = {{"forward_auth.headers", "X-Tier="}};
  EXPECT_THAT(Mistakes(), HasSubstr("'X-Tier'"));
}

TEST_F(ConfigTest, AFileThatIsNotThereOrNotYamlIsTold) {
  sources_.file = "/nowhere/sluice.yaml";
  EXPECT_THAT(Mistakes(), HasSubstr("/nowhere/sluice.yaml: can't be read"));
  WriteFile("a: [");
  EXPECT_THAT(Mistakes(), HasSubstr(path_ + ":1"));
  WriteFile("- a\n");
  EXPECT_THAT(Mistakes(), HasSubstr("settings are a mapping"));
}

TEST_F(ConfigTest, AServerMustListenSomewhere) {
  sources_.flags = {{"http.listen", "none"}, {"resp.listen", "none"}, {"grpc.listen", "none"}};
  EXPECT_THAT(Mistakes(), HasSubstr("must listen somewhere"));
}

TEST_F(ConfigTest, AServerMayListenWithTlsOnly) {
  sources_.flags = {{"http.listen", "none"},
                    {"resp.listen", "none"},
                    {"resp_tls.listen", "127.0.0.1:6390"},
                    {"resp_tls.certificate", "c.pem"}};
  const Config config = *ReadConfig(sources_);
  EXPECT_THAT(config.resp_tls.listen, ElementsAre("127.0.0.1:6390"));
  EXPECT_EQ(config.resp_tls.minimum_version, "1.2");
  EXPECT_TRUE(config.http_tls.listen.empty());
}

TEST_F(ConfigTest, SettingsOfTlsThatContradictEachOtherAreTold) {
  sources_.flags = {{"http_tls.listen", ":8443"}, {"resp_tls.client_certificates", "required"}};
  EXPECT_THAT(Mistakes(), AllOf(HasSubstr("http_tls: listen and certificate go together"),
                                HasSubstr("resp_tls: client_ca says whose")));
  sources_.flags = {{"http_tls.minimum_version", "1.1"}, {"http_tls.client_ca", "ca.pem"}};
  EXPECT_THAT(Mistakes(), AllOf(HasSubstr("--http-tls-minimum-version: '1.1' is none of 1.2 1.3"),
                                HasSubstr("http_tls: client_ca says whose")));
}

TEST_F(ConfigTest, WhatIsPrintedReadsBackAsTheSame) {
  sources_.flags = {{"threads", "3"},
                    {"store_deadline", "15ms"},
                    {"http.headers", "draft-7"},
                    {"metrics.labels", "a=b,c=d"},
                    {"resp.listen", "none"},
                    {"http_tls.listen", ":8443"},
                    {"http_tls.certificate", "c.pem"},
                    {"http_tls.minimum_version", "1.3"},
                    {"limits.idle_timeout", "90s"}};
  const std::string printed = PrintConfig(*ReadConfig(sources_));
  WriteFile(printed);
  sources_.flags.clear();
  const Config again = *ReadConfig(sources_);
  EXPECT_EQ(PrintConfig(again), printed);
  EXPECT_EQ(again.store_deadline, milliseconds(15));
  EXPECT_EQ(again.idle_timeout, seconds(90));
}

TEST_F(ConfigTest, SecretsAreNotPrinted) {
  sources_.flags = {{"admin.token", "opensesame"},
                    {"store", "redis://me:opensesame@redis.test:6379/2"}};
  const std::string printed = PrintConfig(*ReadConfig(sources_));
  EXPECT_THAT(printed, AllOf(Not(HasSubstr("opensesame")),
                             HasSubstr("redis://me:********@redis.test:6379/2")));
}

TEST_F(ConfigTest, EverySettingCanBeSetToWhatItIs) {
  std::set<std::string> names;
  for (const Setting& setting : Settings()) {
    Config config;
    EXPECT_TRUE(names.insert(setting.flag()).second) << setting.name;
    EXPECT_TRUE(names.insert(setting.variable()).second) << setting.name;
    EXPECT_EQ(setting.set(config, setting.get(config)), std::nullopt) << setting.name;
    EXPECT_FALSE(setting.meaning.empty());
  }
}

}  // namespace
}  // namespace sluice::server
