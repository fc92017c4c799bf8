#include "redis/yaml.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Options ParsedYaml(const std::string& text) {
  const auto options = ParseYaml(text);
  EXPECT_TRUE(options) << text << ": " << options.error().message;
  return options ? *options : Options{};
}

std::string MessageOf(const std::string& text) {
  const auto options = ParseYaml(text);
  EXPECT_FALSE(options.ok()) << text;
  return options.ok() ? "" : options.error().message;
}

TEST(RedisYamlTest, FieldsAreEquivalentToAUrl) {
  const Options options = ParsedYaml(R"(
host: redis.test
port: 7000
username: alice
password: "p@ss"
database: 5
tls:
  ca_file: /etc/ca.pem
  verify: false
connect_timeout: 100ms
)");
  EXPECT_EQ(options.host, "redis.test");
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.username, "alice");
  EXPECT_EQ(options.password.Reveal(), "p@ss");
  EXPECT_EQ(options.database, 5U);
  EXPECT_TRUE(options.tls.enabled);
  EXPECT_EQ(options.tls.ca_file, "/etc/ca.pem");
  EXPECT_FALSE(options.tls.verify);
  EXPECT_EQ(options.connect_timeout, std::chrono::milliseconds(100));
}

TEST(RedisYamlTest, FieldsAddToAUrlWhereverItStands) {
  const Options options = ParsedYaml("database: 3\nurl: rediss://redis.test:7000\n");
  EXPECT_EQ(options.host, "redis.test");
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.database, 3U);
  EXPECT_TRUE(options.tls.enabled);
}

TEST(RedisYamlTest, TlsCanBeEnabledWithoutOptions) {
  EXPECT_TRUE(ParsedYaml("tls: true").tls.enabled);
}

TEST(RedisYamlTest, SentinelsHaveFieldsOfTheirOwn) {
  const Options options = ParsedYaml(R"(
username: alice
password: pw
sentinel:
  name: mymaster
  addresses: [10.0.0.1:7000, 10.0.0.2]
  username: watcher
  password_env: SENTINEL_PASSWORD
)");
  EXPECT_EQ(options.topology, Topology::kSentinel);
  EXPECT_EQ(options.sentinel.name, "mymaster");
  EXPECT_EQ(options.seeds, (std::vector<ServerAddress>{{"10.0.0.1", 7000}, {"10.0.0.2", 26379}}));
  EXPECT_EQ(options.username, "alice");
  EXPECT_EQ(options.sentinel.username, "watcher");
  EXPECT_EQ(options.sentinel.password_env, "SENTINEL_PASSWORD");
}

TEST(RedisYamlTest, AClusterIsAListOfServers) {
  const Options options = ParsedYaml("cluster: [10.0.0.1, '[::1]:7000']");
  EXPECT_EQ(options.topology, Topology::kCluster);
  EXPECT_EQ(options.seeds, (std::vector<ServerAddress>{{"10.0.0.1", 6379}, {"::1", 7000}}));
}

TEST(RedisYamlTest, ErrorsHaveTheirLine) {
  EXPECT_THAT(MessageOf("host: a\nport: many\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("port"), HasSubstr("'many'")));
  EXPECT_THAT(MessageOf("hots: a\n"), AllOf(HasSubstr("line 1"), HasSubstr("'hots'")));
  EXPECT_THAT(MessageOf("host: [a, b]\n"), HasSubstr("host: expected one value"));
  EXPECT_THAT(MessageOf("host: [a\n"), HasSubstr("line"));
  EXPECT_THAT(MessageOf("just text"), HasSubstr("expected fields"));
  EXPECT_THAT(MessageOf("cluster: 10.0.0.1\n"), HasSubstr("expected a list of addresses"));
  EXPECT_THAT(MessageOf("cluster:\n- a:b\n"),
              AllOf(HasSubstr("line 2"), HasSubstr("port"), HasSubstr("'b'")));
  EXPECT_THAT(MessageOf("cluster: []\n"), HasSubstr("a cluster needs an address"));
  EXPECT_THAT(MessageOf("sentinel: { addresses: [a] }\n"), HasSubstr("name of the primary"));
  EXPECT_THAT(MessageOf("sentinel: { nmae: a }\n"), HasSubstr("found 'nmae'"));
  EXPECT_THAT(MessageOf("cluster: [a]\nsentinel: { name: a, addresses: [a] }\n"),
              HasSubstr("only one of sentinel and cluster"));
}

TEST(RedisYamlTest, NoErrorShowsAPassword) {
  EXPECT_THAT(MessageOf("password: geheim\nport: many\n"), Not(HasSubstr("geheim")));
  EXPECT_THAT(MessageOf("url: redis://a:geheim@host:many\n"), Not(HasSubstr("geheim")));
}

TEST(RedisYamlTest, TheBreakerIsSetAsInAUrl) {
  const BreakerOptions breaker = ParsedYaml(R"(
breaker_failures: 7
breaker_window: 20s
breaker_least_percent: 50
breaker_all_failing: 300ms
breaker_slow: 30ms
breaker_pause: 1s
breaker_probes: 2
breaker_successes: 1
)")
                                     .breaker;
  EXPECT_TRUE(breaker.enabled);
  EXPECT_EQ(breaker.failures, 7U);
  EXPECT_EQ(breaker.window, std::chrono::seconds(20));
  EXPECT_EQ(breaker.least_percent, 50U);
  EXPECT_EQ(breaker.all_failing, std::chrono::milliseconds(300));
  EXPECT_EQ(breaker.slow, std::chrono::milliseconds(30));
  EXPECT_EQ(breaker.pause, std::chrono::seconds(1));
  EXPECT_EQ(breaker.probes, 2U);
  EXPECT_EQ(breaker.successes, 1U);
  EXPECT_FALSE(ParsedYaml("breaker: false").breaker.enabled);
  EXPECT_FALSE(ParsedYaml("url: redis://h?breaker=false").breaker.enabled);
}

TEST(RedisYamlTest, AnInvalidBreakerIsRejected) {
  EXPECT_THAT(MessageOf("breaker_pause: 2s"), HasSubstr("breaker_pause must be at most 1s"));
  EXPECT_THAT(MessageOf("breaker_failures: 0"), HasSubstr("breaker_failures must be above 0"));
  EXPECT_THAT(MessageOf("breaker_probes: 0"), HasSubstr("breaker_probes"));
  EXPECT_THAT(MessageOf("breaker_window: 0s"), HasSubstr("breaker_window"));
  EXPECT_THAT(MessageOf("breaker_least_percent: 101"), HasSubstr("at most 100"));
  EXPECT_THAT(MessageOf("breaker: perhaps"), HasSubstr("true or false"));
  EXPECT_THAT(MessageOf("breaker_failures: many"), HasSubstr("a number from 0 on"));
}

}  // namespace
}  // namespace sluice::redis
