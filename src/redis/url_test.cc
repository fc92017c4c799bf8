#include "redis/url.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::redis {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

Options Parsed(const std::string& url) {
  const auto options = ParseUrl(url);
  EXPECT_TRUE(options) << url << ": " << options.error().message;
  return options ? *options : Options{};
}

TEST(RedisUrlTest, MissingPartsHaveDefaults) {
  const Options options = Parsed("redis://localhost");
  EXPECT_EQ(options.host, "localhost");
  EXPECT_EQ(options.port, 6379);
  EXPECT_EQ(options.database, 0U);
  EXPECT_FALSE(options.tls.enabled);
  EXPECT_TRUE(options.password.empty());
}

TEST(RedisUrlTest, EveryPartIsRead) {
  const Options options = Parsed("rediss://al%3Aice:p%40ss%2F%25@redis.test:7000/5");
  EXPECT_EQ(options.username, "al:ice");
  EXPECT_EQ(options.password.Reveal(), "p@ss/%");
  EXPECT_EQ(options.host, "redis.test");
  EXPECT_EQ(options.port, 7000);
  EXPECT_EQ(options.database, 5U);
  EXPECT_TRUE(options.tls.enabled);
}

TEST(RedisUrlTest, APasswordNeedsNoUser) {
  const Options options = Parsed("redis://:pass@word@host/");
  EXPECT_EQ(options.username, "");
  EXPECT_EQ(options.password.Reveal(), "pass@word");
  EXPECT_EQ(options.host, "host");
}

TEST(RedisUrlTest, AnIpv6AddressStandsInBrackets) {
  EXPECT_EQ(Parsed("redis://[::1]").host, "::1");
  EXPECT_EQ(Parsed("redis://[2001:db8::1]:7000/1").port, 7000);
}

TEST(RedisUrlTest, AUnixSocketIsAPath) {
  const Options options = Parsed("unix://:pw@/run/re%20dis.sock?db=3");
  EXPECT_EQ(options.unix_socket, "/run/re dis.sock");
  EXPECT_EQ(options.password.Reveal(), "pw");
  EXPECT_EQ(options.database, 3U);
}

TEST(RedisUrlTest, OptionsAreRead) {
  const Options options = Parsed(
      "rediss://h?db=2&client_name=me&password_file=/p%26w&ca_file=/ca&cert_file=/c&key_file=/k"
      "&server_name=s&verify=false&connect_timeout=1s&stall_timeout=20ms&backoff_min=5us&backoff_"
      "max=7ms");
  EXPECT_EQ(options.database, 2U);
  EXPECT_EQ(options.client_name, "me");
  EXPECT_EQ(options.password_file, "/p&w");
  EXPECT_EQ(options.tls.ca_file, "/ca");
  EXPECT_EQ(options.tls.cert_file, "/c");
  EXPECT_EQ(options.tls.key_file, "/k");
  EXPECT_EQ(options.tls.server_name, "s");
  EXPECT_FALSE(options.tls.verify);
  EXPECT_EQ(options.connect_timeout, milliseconds(1000));
  EXPECT_EQ(options.stall_timeout, milliseconds(20));
  EXPECT_EQ(options.backoff_min, Micros(5));
  EXPECT_EQ(options.backoff_max, milliseconds(7));
  EXPECT_EQ(Parsed("redis://h?password_env=PW").password_env, "PW");
}

TEST(RedisUrlTest, SentinelsAreNamedAfterThePrimary) {
  const Options options = Parsed(
      "rediss-sentinel://al%3Aice:p%40ss@my%20master@h1:7001,[::1],h3/2?sentinel_username=w"
      "&sentinel_password_file=/s");
  EXPECT_EQ(options.topology, Topology::kSentinel);
  EXPECT_TRUE(options.tls.enabled);
  EXPECT_EQ(options.sentinel.name, "my master");
  EXPECT_EQ(options.username, "al:ice");
  EXPECT_EQ(options.password.Reveal(), "p@ss");
  EXPECT_EQ(options.seeds,
            (std::vector<ServerAddress>{{"h1", 7001}, {"::1", 26379}, {"h3", 26379}}));
  EXPECT_EQ(options.database, 2U);
  EXPECT_EQ(options.sentinel.username, "w");
  EXPECT_EQ(options.sentinel.password_file, "/s");
  EXPECT_EQ(AddressOf(options), "primary 'my master' of sentinels h1:7001,[::1]:26379,h3:26379");
  EXPECT_EQ(Parsed("redis-sentinel://it@h").username, "");
}

TEST(RedisUrlTest, AClusterIsNamedBySomeOfItsServers) {
  const Options options = Parsed("redis-cluster://:pw@h1:7001,h2");
  EXPECT_EQ(options.topology, Topology::kCluster);
  EXPECT_EQ(options.password.Reveal(), "pw");
  EXPECT_EQ(options.seeds, (std::vector<ServerAddress>{{"h1", 7001}, {"h2", 6379}}));
  EXPECT_EQ(AddressOf(options), "cluster of h1:7001,h2:6379");
  EXPECT_TRUE(Parsed("rediss-cluster://h1").tls.enabled);
}

TEST(RedisUrlTest, ErrorsHaveTheFoundAndTheExpectedText) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "expected redis://, rediss:// or unix://"},
      {"http://host", "expected redis://, rediss:// or unix://"},
      {"redis://", "the host is missing"},
      {"redis://:6379", "the host is missing"},
      {"redis://host:", "port: expected a number from 1 to 65535, found ''"},
      {"redis://host:0", "port: expected a number from 1 to 65535, found '0'"},
      {"redis://host:65536", "port: expected a number from 1 to 65535, found '65536'"},
      {"redis://::1", "expected an IPv6 address in brackets, found '::1'"},
      {"redis://[::1", "expected ']' after an IPv6 address, found '[::1'"},
      {"redis://[::1]x", "expected ':' and a port after ']', found '[::1]x'"},
      {"redis://host/x", "database: expected a number from 0 on, found 'x'"},
      {"redis://host/-1", "database: expected a number from 0 on, found '-1'"},
      {"redis://host?x=1", "option: expected one of port, db, client_name"},
      {"redis://host?db", "option: expected name=value, found 'db'"},
      {"redis://host?db=%2", "db: expected two hexadecimal digits"},
      {"redis://host?verify=yes", "verify: expected true or false, found 'yes'"},
      {"redis://host?connect_timeout=5",
       "expected a number with a unit, such as 250ms or 1s, found '5'"},
      {"redis://host?connect_timeout=0s", "connect_timeout must be above 0"},
      {"redis://%zz:x@host", "a '%' must be followed by two hexadecimal digits"},
      {"unix://run/redis", "expected a path that begins with '/', found 'run/redis'"},
      {"redis://alice@host", "the user alice has no password"},
      {"redis-sentinel://host", "expected the primary's name before the sentinels"},
      {"redis-sentinel://@host", "expected the primary's name before the sentinels"},
      {"redis-sentinel://user:pw@host", "expected the primary's name before the sentinels"},
      {"redis-sentinel://it@h1,,h2", "the host is missing"},
      {"redis-sentinel://it@h?sentinel_username=w", "the sentinels' user w has no password"},
      {"redis-cluster://h1,", "the host is missing"},
      {"redis-cluster://h1:x", "port: expected a number from 1 to 65535, found 'x'"},
      {"redis-cluster://h1/1", "a cluster has only database 0"},
  };
  for (const auto& [url, message] : cases) {
    const auto options = ParseUrl(url);
    ASSERT_FALSE(options) << url;
    EXPECT_EQ(options.error().code, ErrorCode::kInvalidOptions);
    EXPECT_THAT(options.error().message, HasSubstr(message)) << url;
  }
}

TEST(RedisUrlTest, ErrorsNeverShowThePassword) {
  for (const std::string url :
       {"redis://:hid/den@host", "redis://:hid?den@host", "redis://:hidden%@host",
        "redis://:hidden@host:x", "redis://:hidden@", "unix://:hidden@run",
        "redis://:hidden@host?password_env=X", "redix://:hidden@h", "redis-sentinel://:hidden@h",
        "redis-sentinel://a:hidden@@h", "redis-cluster://:hidden@h:x"}) {
    const auto options = ParseUrl(url);
    ASSERT_FALSE(options) << url;
    EXPECT_THAT(options.error().message, Not(HasSubstr("hid"))) << url;
  }
}

}  // namespace
}  // namespace sluice::redis
