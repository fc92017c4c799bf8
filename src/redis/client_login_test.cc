#include <cstdlib>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "redis/client.h"
#include "redis/testing/client_fixture.h"
#include "redis/testing/redis_server.h"

namespace sluice::redis {
namespace {

using ::testing::HasSubstr;
using testing::milliseconds;
using ::testing::Not;
using testing::Outcome;
using testing::RedisServer;

constexpr const char* kAlice = "user alice on >right ~* &* +@all";

class ClientLoginTest : public testing::ClientTest {};

TEST_F(ClientLoginTest, AUserWithAPasswordCanLogIn) {
  RedisServer server({.config = {kAlice}});
  Options options = server.ClientOptions();
  options.username = "alice";
  options.password = Secret("right");
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"ACL", "WHOAMI"}).reply, "\"alice\"");
}

TEST_F(ClientLoginTest, APasswordAloneIsThatOfTheDefaultUser) {
  RedisServer server({.config = {"requirepass right"}});
  Options options = server.ClientOptions();
  options.password = Secret("right");
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"ACL", "WHOAMI"}).reply, "\"default\"");
}

TEST_F(ClientLoginTest, AWrongPasswordFailsCallsImmediatelyUntilItIsCorrected) {
  RedisServer server({.config = {kAlice}});
  Options options = server.ClientOptions();
  options.username = "alice";
  options.password = Secret("s3cret-and-wrong");
  Client client(loop_, options);
  const Outcome first = Ask(client, {"PING"});
  EXPECT_EQ(first.error.failure, Failure::kRefused);
  EXPECT_EQ(first.error.ran, Execution::kNotSent);
  EXPECT_THAT(first.error.message, HasSubstr("WRONGPASS"));
  EXPECT_THAT(first.error.message, Not(HasSubstr("s3cret")));
  server.Do("ACL SETUSER alice >s3cret-and-wrong");
  ASSERT_TRUE(RunUntilReady(client)) << client.last_error();
  EXPECT_EQ(Ask(client, {"PING"}).reply, "\"PONG\"");
  EXPECT_EQ(client.last_error(), "");
}

TEST_F(ClientLoginTest, AMissingPasswordHasAClearError) {
  RedisServer server({.config = {"requirepass right"}});
  Client client(loop_, server.ClientOptions());
  EXPECT_THAT(Ask(client, {"PING"}).error.message, HasSubstr("NOAUTH"));
}

TEST_F(ClientLoginTest, ThePasswordIsReadFromItsFileAtEveryConnect) {
  RedisServer server({.config = {kAlice}});
  Options options = server.ClientOptions();
  options.username = "alice";
  options.password_file = server.folder() / "password";
  Client client(loop_, options);
  EXPECT_THAT(Ask(client, {"PING"}).error.message, HasSubstr("password_file"));
  std::ofstream(options.password_file) << "right\n";
  ASSERT_TRUE(RunUntilReady(client)) << client.last_error();
}

TEST_F(ClientLoginTest, ThePasswordIsReadFromTheEnvironment) {
  RedisServer server({.config = {kAlice}});
  ASSERT_EQ(setenv("SLUICE_TEST_REDIS_PASSWORD", "right", 1), 0);
  Options options = server.ClientOptions();
  options.username = "alice";
  options.password_env = "SLUICE_TEST_REDIS_PASSWORD";
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"ACL", "WHOAMI"}).reply, "\"alice\"");
}

TEST_F(ClientLoginTest, ADatabaseIsSelected) {
  RedisServer server;
  Options options = server.ClientOptions();
  options.database = 5;
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"SET", "k", "v"}).reply, "\"OK\"");
  EXPECT_EQ(Describe(server.Do("EXISTS k").value()), "0");
  EXPECT_THAT(Describe(server.Do("INFO keyspace").value()), HasSubstr("db5:keys=1"));
}

TEST_F(ClientLoginTest, AMissingDatabaseHasAClearError) {
  RedisServer server;
  Options options = server.ClientOptions();
  options.database = 500;
  Client client(loop_, options);
  const Outcome outcome = Ask(client, {"PING"});
  EXPECT_EQ(outcome.error.failure, Failure::kRefused);
  EXPECT_THAT(outcome.error.message, HasSubstr("SELECT: ERR DB index is out of range"));
}

TEST_F(ClientLoginTest, AServerWithoutHelloIsSpokenToInResp2) {
  RedisServer server({.config = {"rename-command HELLO \"\"", "requirepass right"}});
  Options options = server.ClientOptions();
  options.password = Secret("right");
  options.database = 3;
  Client client(loop_, options);
  EXPECT_EQ(Ask(client, {"GET", "nothing"}).reply, "null");
  EXPECT_EQ(client.protocol(), resp::Protocol::kResp2);
  EXPECT_THAT(Ask(client, {"CLIENT", "INFO"}).reply, HasSubstr("name=sluice"));
}

class ClientTlsTest : public testing::ClientTest {
 protected:
  // What a client with these options gets to hear in a few attempts.
  std::string Heard(const Options& options) {
    Client client(loop_, options);
    const Outcome outcome = Ask(client, {"PING"}, milliseconds(700));
    return outcome.ok ? outcome.reply : outcome.error.message;
  }

  RedisServer server_{{.tls = true}};
};

TEST_F(ClientTlsTest, AServerWithTheRightCertificateIsTrusted) {
  Options options = server_.ClientOptions();
  options.tls.cert_file = server_.certificates().client_cert_file;
  options.tls.key_file = server_.certificates().client_key_file;
  EXPECT_EQ(Heard(options), "\"PONG\"") << "by its address";
  options.tls.server_name = "redis.test";
  EXPECT_EQ(Heard(options), "\"PONG\"") << "by its name";
}

TEST_F(ClientTlsTest, ThousandsOfCallsPassThroughTls) {
  Options options = server_.ClientOptions();
  options.tls.cert_file = server_.certificates().client_cert_file;
  options.tls.key_file = server_.certificates().client_key_file;
  Client client(loop_, options);
  for (int i = 0; i < 5000; ++i) Send(client, {"INCR", "n"});
  WaitForAll();
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    ASSERT_EQ(outcomes_[i].reply, std::to_string(i + 1)) << outcomes_[i].error.message;
  }
}

TEST_F(ClientTlsTest, AnotherAuthorityIsNotTrusted) {
  Options options = server_.ClientOptions();
  options.tls.ca_file = server_.certificates().other_ca_file;
  EXPECT_THAT(Heard(options), HasSubstr("certificate is not accepted"));
}

TEST_F(ClientTlsTest, AnotherNameIsNotTrusted) {
  Options options = server_.ClientOptions();
  options.tls.server_name = "other.test";
  EXPECT_THAT(Heard(options), HasSubstr("hostname mismatch"));
  options.tls.server_name = "127.0.0.2";
  EXPECT_THAT(Heard(options), HasSubstr("IP address mismatch"));
}

TEST_F(ClientTlsTest, WithoutVerificationAnyServerIsTrusted) {
  Options options = server_.ClientOptions();
  options.tls.ca_file = "";
  options.tls.server_name = "other.test";
  options.tls.verify = false;
  options.tls.cert_file = server_.certificates().client_cert_file;
  options.tls.key_file = server_.certificates().client_key_file;
  EXPECT_EQ(Heard(options), "\"PONG\"");
}

TEST_F(ClientTlsTest, AMissingFileIsNamed) {
  Options options = server_.ClientOptions();
  options.tls.ca_file = "/nowhere/ca.crt";
  EXPECT_THAT(Heard(options), HasSubstr("tls ca_file /nowhere/ca.crt: No such file"));
}

TEST_F(ClientTlsTest, AClientWithoutTlsIsRejected) {
  Options options = server_.ClientOptions();
  options.tls.enabled = false;
  EXPECT_THAT(Heard(options), HasSubstr("127.0.0.1:" + std::to_string(server_.port())));
}

}  // namespace
}  // namespace sluice::redis
