#include "settings/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "settings/setting.h"

namespace sluice::settings {
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

  std::string Problems() {
    const auto config = ReadConfig(sources_);
    return config ? "none" : config.error().message;
  }

  std::map<std::string, std::string> environment_;
  ConfigSources sources_;
  std::string path_;
};

TEST_F(ConfigTest, WithoutAnythingTheDefaultsHold) {
  const Config config = *ReadConfig(sources_);
  EXPECT_THAT(config.http.listener.listen, ElementsAre("127.0.0.1:8080"));
  EXPECT_THAT(config.resp.listener.listen, ElementsAre("127.0.0.1:6380"));
  EXPECT_THAT(config.grpc.listener.listen, ElementsAre("127.0.0.1:8081"));
  EXPECT_EQ(config.store.url, "memory");
}

TEST_F(ConfigTest, FlagsWinOverTheEnvironmentAndThatOverTheFile) {
  WriteFile("threads: 1\nhttp: { listen: '127.0.0.1:1' }\nlog: { level: warn }\n");
  environment_["SLUICE_HTTP_LISTEN"] = "127.0.0.1:2";
  environment_["SLUICE_LOG_LEVEL"] = "debug";
  sources_.flags = {{"http.listen", "127.0.0.1:3"}};
  const Config config = *ReadConfig(sources_);
  EXPECT_EQ(config.threads, 1U);
  EXPECT_EQ(config.log.level, telemetry::LogLevel::kDebug);
  EXPECT_THAT(config.http.listener.listen, ElementsAre("127.0.0.1:3"));
}

TEST_F(ConfigTest, ListsAndLabelsMayBeWrittenAsYaml) {
  WriteFile(
      "http: { listen: ['127.0.0.1:1', 'unix:/run/s.sock'] }\nresp: { listen: none }\n"
      "metrics: { labels: { region: eu, zone: b } }\n");
  const Config config = *ReadConfig(sources_);
  EXPECT_THAT(config.http.listener.listen, ElementsAre("127.0.0.1:1", "unix:/run/s.sock"));
  EXPECT_TRUE(config.resp.listener.listen.empty());
  EXPECT_THAT(config.metrics_labels, ::testing::Contains(::testing::Pair("zone", "b")));
}

TEST_F(ConfigTest, EveryProblemIsReportedWithItsPlace) {
  WriteFile("threads: many\nhttp:\n  lissten: x\nlimits: { idle_timeout: 5 }\n");
  environment_["SLUICE_ENFORCEMENT"] = "maybe";
  sources_.flags = {{"memory.max_keys", "0"}};
  EXPECT_THAT(Problems(), AllOf(HasSubstr(path_ + ":1:1: threads: 'many' is not a whole number"),
                                HasSubstr(path_ + ":3:3: unknown setting 'http.lissten'"),
                                HasSubstr("limits.idle_timeout: '5' is not a duration"),
                                HasSubstr("SLUICE_ENFORCEMENT: 'maybe' is none of on shadow off"),
                                HasSubstr("--memory-max-keys: '0' is not a whole number")));
}

TEST_F(ConfigTest, AddressesAndUrlsAreCheckedToo) {
  WriteFile("http: { listen: ['127.0.0.1:1', 'localhost:99999'] }\n");
  sources_.flags = {{"resp.listen", "6380x"}, {"store", "mysql://db"}, {"threads", "x"}};
  EXPECT_THAT(Problems(), AllOf(HasSubstr(path_ + ":1:9: http.listen: "), HasSubstr("99999"),
                                HasSubstr("--resp-listen: "), HasSubstr("6380x"),
                                HasSubstr("--store: "), HasSubstr("--threads: 'x'")));
}

TEST_F(ConfigTest, ProxiesCantSetAttributesThatTheServerDetermines) {
  sources_.flags = {{"forward_auth.headers", "X-Tier=tier,X-Client=ip"}};
  EXPECT_THAT(Problems(), HasSubstr("'X-Client': a header can't set the attribute `ip`"));
  sources_.flags = {{"forward_auth.headers", "X-Tier="}};
  EXPECT_THAT(Problems(), HasSubstr("'X-Tier'"));
}

TEST_F(ConfigTest, AMissingFileAndOneThatIsNotYamlAreReported) {
  sources_.file = "/nowhere/sluice.yaml";
  EXPECT_THAT(Problems(), HasSubstr("/nowhere/sluice.yaml: can't be read"));
  WriteFile("a: [");
  EXPECT_THAT(Problems(), HasSubstr(path_ + ":1"));
  WriteFile("- a\n");
  EXPECT_THAT(Problems(), HasSubstr("settings are a mapping"));
}

TEST_F(ConfigTest, SystemdsStateDirectoryIsTheDefaultOfStateDir) {
  EXPECT_EQ(ReadConfig(sources_)->state_dir, "./sluice-state");
  environment_["STATE_DIRECTORY"] = "/var/lib/sluice:/var/lib/other";
  EXPECT_EQ(ReadConfig(sources_)->state_dir, "/var/lib/sluice");
  WriteFile("state_dir: /srv/sluice\nrules_source: store\n");
  EXPECT_EQ(ReadConfig(sources_)->state_dir, "/srv/sluice");
  EXPECT_EQ(ReadConfig(sources_)->rules_source, RulesSource::kStore);
}

TEST_F(ConfigTest, AGuardIsAPercentage) {
  EXPECT_EQ(ReadConfig(sources_)->guard.max_newly_denied, std::nullopt);
  for (const auto& [text, value] : std::map<std::string, double>{
           {"1 %", 1}, {"0.5%", 0.5}, {"100", 100}, {"0", 0}, {"1e-2", 0.01}}) {
    sources_.flags = {{"guard.max_newly_denied", text}};
    EXPECT_EQ(ReadConfig(sources_)->guard.max_newly_denied, value) << text;
  }
  for (const char* const text : {"101", "-1", "%", "", "1 % %", "nan", "many"}) {
    sources_.flags = {{"guard.max_newly_denied", text}};
    EXPECT_THAT(Problems(), HasSubstr("neither off nor a percentage")) << text;
  }
  WriteFile("guard: {max_newly_denied: 1 %}\n");
  sources_.flags.clear();
  EXPECT_THAT(PrintConfig(*ReadConfig(sources_)), HasSubstr("guard:\n  max_newly_denied: 1 %\n"));
}

TEST_F(ConfigTest, ANamespaceCantContainWhatSeparatesKeys) {
  for (const std::string& name :
       std::vector<std::string>{"", "a b", "a:b", "{a}", "a/b", "é", std::string(65, 'a')}) {
    sources_.flags = {{"control.namespace", name}};
    EXPECT_THAT(Problems(), HasSubstr("--control-namespace: ")) << name;
  }
  sources_.flags = {{"control.namespace", "eu-west.1_a"}};
  EXPECT_EQ(ReadConfig(sources_)->control.name_space, "eu-west.1_a");
}

TEST_F(ConfigTest, UnknownSettingsGetASuggestion) {
  WriteFile("http:\n  lissten: x\n");
  EXPECT_THAT(Problems(), HasSubstr("did you mean `http.listen`?"));
}

TEST_F(ConfigTest, DurationsAreWrittenAsInRules) {
  WriteFile("limits: { idle_timeout: 1h30m }\nreceipts: { lifetime: 2d }\n");
  const Config config = *ReadConfig(sources_);
  EXPECT_EQ(config.limits.idle_timeout, std::chrono::minutes(90));
  EXPECT_EQ(config.receipts.lifetime, std::chrono::hours(48));
}

TEST_F(ConfigTest, AServerMustListenSomewhere) {
  sources_.flags = {{"http.listen", "none"}, {"resp.listen", "none"}, {"grpc.listen", "none"}};
  EXPECT_THAT(Problems(), HasSubstr("needs a listener"));
}

TEST_F(ConfigTest, AServerMayListenWithTlsOnly) {
  sources_.flags = {{"http.listen", "none"},
                    {"resp.listen", "none"},
                    {"resp_tls.listen", "127.0.0.1:6390"},
                    {"resp_tls.certificate", "c.pem"}};
  const Config config = *ReadConfig(sources_);
  EXPECT_THAT(config.resp.listener.tls_listen, ElementsAre("127.0.0.1:6390"));
  EXPECT_EQ(config.resp.listener.tls.minimum, net::TlsVersion::k12);
  EXPECT_TRUE(config.http.listener.tls_listen.empty());
}

TEST_F(ConfigTest, TlsSettingsBecomeTheOptionsOfTheListener) {
  sources_.flags = {{"http_tls.listen", ":8443"},
                    {"http_tls.certificate", "c"},
                    {"http_tls.key", "k"},
                    {"http_tls.minimum_version", "1.3"},
                    {"http_tls.client_certificates", "required"},
                    {"http_tls.client_ca", "a"}};
  const Config config = *ReadConfig(sources_);
  const net::TlsServerOptions& tls = config.http.listener.tls;
  EXPECT_EQ(tls.certificate, "c");
  EXPECT_EQ(tls.key, "k");
  EXPECT_EQ(tls.minimum, net::TlsVersion::k13);
  EXPECT_EQ(tls.client_certificates, net::ClientCertificates::kRequired);
  EXPECT_EQ(tls.client_ca, "a");
}

TEST_F(ConfigTest, ContradictingTlsSettingsAreReported) {
  sources_.flags = {{"http_tls.listen", ":8443"}, {"resp_tls.client_certificates", "required"}};
  EXPECT_THAT(Problems(), AllOf(HasSubstr("http_tls: listen and certificate go together"),
                                HasSubstr("resp_tls: client_ca has the authorities")));
  sources_.flags = {{"http_tls.minimum_version", "1.1"}, {"http_tls.client_ca", "ca.pem"}};
  EXPECT_THAT(Problems(), AllOf(HasSubstr("--http-tls-minimum-version: '1.1' is none of 1.2 1.3"),
                                HasSubstr("http_tls: client_ca has the authorities")));
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
  EXPECT_EQ(again.store.deadline, milliseconds(15));
  EXPECT_EQ(again.limits.idle_timeout, seconds(90));
}

TEST_F(ConfigTest, AnAdminTokenThatCanBeGuessedIsRefused) {
  for (const char* token : {"x", "fifteen-letters", "has a blank in its middle"}) {
    sources_.flags = {{"admin.token", token}};
    const auto config = ReadConfig(sources_);
    ASSERT_FALSE(config.ok()) << token;
    EXPECT_THAT(config.error().message, HasSubstr("an admin token has"));
    EXPECT_THAT(config.error().message, Not(HasSubstr(token)));
  }
  sources_.flags = {{"admin.token", "sixteen-letters!"}};
  EXPECT_TRUE(ReadConfig(sources_).ok());
}

TEST_F(ConfigTest, PathsCanBeFoldedAndHostsNamed) {
  sources_.flags = {{"forward_auth.fold_paths", "case,parameters"},
                    {"admin.hosts", "Sluice.internal:8080,b."}};
  const Config config = *ReadConfig(sources_);
  EXPECT_EQ(config.forward_auth.fold_paths, (PathFolding{.letter_case = true, .parameters = true}));
  EXPECT_THAT(config.admin.hosts, ::testing::ElementsAre("sluice.internal", "b"));
  sources_.flags = {{"forward_auth.fold_paths", "dots"}};
  const auto wrong = ReadConfig(sources_);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, HasSubstr("trailing_dots"));
}

TEST_F(ConfigTest, ReceiptsAndNegativeHitsHaveBoundsOfTheirOwn) {
  const Config usual = *ReadConfig(sources_);
  EXPECT_EQ(usual.receipts.lifetime, std::chrono::hours(1));
  EXPECT_EQ(usual.negative_hits, envoy::NegativeHits::kEnvoyDomains);
  WriteFile("receipts: { lifetime: 31d, max_settled_per_key: 5 }\nnegative_hits: off\n");
  const Config config = *ReadConfig(sources_);
  EXPECT_EQ(config.receipts.lifetime, std::chrono::hours(24 * 31));
  EXPECT_EQ(config.receipts.max_settled_per_key, 5U);
  EXPECT_EQ(config.negative_hits, envoy::NegativeHits::kOff);
  sources_.flags = {{"receipts.lifetime", "0s"}, {"negative_hits", "grpc"}};
  EXPECT_THAT(Problems(),
              AllOf(HasSubstr("less than 1s"), HasSubstr("none of off envoy_domains on")));
}

TEST_F(ConfigTest, SecretsAreNotPrinted) {
  sources_.flags = {{"admin.token", "opensesame-opensesame"},
                    {"store", "redis://me:opensesame@redis.test:6379/2"}};
  const std::string printed = PrintConfig(*ReadConfig(sources_));
  EXPECT_THAT(printed, AllOf(Not(HasSubstr("opensesame")),
                             HasSubstr("redis://me:********@redis.test:6379/2")));
}

TEST_F(ConfigTest, OnlyThePasswordOfAUrlIsMasked) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"redis://:p@ss@h", "redis://:********@h"},
      {"unix://me:pw@/run/redis.sock", "unix://me:********@/run/redis.sock"},
      {"redis-cluster://me:pw@h1:7001,h2", "redis-cluster://me:********@h1:7001,h2"},
      {"redis-sentinel://it@h:26379", "redis-sentinel://it@h:26379"},
      {"redis-sentinel://:pw@it@h", "redis-sentinel://:********@it@h"},
      {"rediss-sentinel://me:p@ss@it@h1:7001,h2/2",
       "rediss-sentinel://me:********@it@h1:7001,h2/2"},
      {"redis-sentinel://me:@it@h?password_file=/p", "redis-sentinel://me:@it@h?password_file=/p"},
      {"redis://me:@h?password_env=PW", "redis://me:@h?password_env=PW"},
  };
  for (const auto& [url, printed] : cases) {
    sources_.flags = {{"store", url}};
    EXPECT_THAT(PrintConfig(*ReadConfig(sources_)), HasSubstr(printed + "\n"));
  }
}

TEST_F(ConfigTest, EverySettingCanBeSetToWhatItIs) {
  std::set<std::string> names;
  for (const Setting& setting : Settings()) {
    Config config;
    EXPECT_TRUE(names.insert(setting.flag()).second) << setting.name;
    EXPECT_TRUE(names.insert(setting.variable()).second) << setting.name;
    EXPECT_EQ(setting.access.set(config, setting.access.get(config)), std::nullopt) << setting.name;
    EXPECT_FALSE(setting.meaning.empty());
  }
}

}  // namespace
}  // namespace sluice::settings
