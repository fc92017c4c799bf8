#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/commands.h"
#include "api/resp/session.h"
#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"

namespace sluice::api {
namespace {

using enum identity::Role;
using identity::Role;
using ::testing::AnyOf;
using ::testing::Not;
using ::testing::StartsWith;

constexpr auto kRoles = {kNone, kChecker, kViewer, kOperator, kEditor, kAdmin};

struct ExpectedCommand {
  Role least;
  std::string_view line;
};

// The least role for every command, and how it is called.
const std::map<std::string_view, ExpectedCommand>& Expected() {
  static const std::map<std::string_view, ExpectedCommand> expected = {
      {"cl.throttle", {kChecker, "CL.THROTTLE k 5 10 60"}},
      {"increx", {kChecker, "INCREX k EX 60 ENX"}},
      {"get", {kChecker, "GET k"}},
      {"pttl", {kChecker, "PTTL k"}},
      {"sluice.check", {kChecker, "SLUICE.CHECK api_key k"}},
      {"sluice.peek", {kChecker, "SLUICE.PEEK api_key k"}},
      {"sluice.reserve", {kChecker, "SLUICE.RESERVE api_key k USE requests 1"}},
      {"sluice.settle", {kChecker, "SLUICE.SETTLE receipt"}},
      {"sluice.cancel", {kChecker, "SLUICE.CANCEL receipt"}},
      {"sluice.extend", {kChecker, "SLUICE.EXTEND receipt"}},
      {"sluice.reset", {kOperator, "SLUICE.RESET api_key k"}},
      {"sluice.entry", {kOperator, "SLUICE.ENTRY BLOCK api_key k"}},
      {"sluice.grant", {kOperator, "SLUICE.GRANT api_key k AMOUNT 1"}},
      {"del", {kOperator, "DEL k"}},
      {"unlink", {kOperator, "UNLINK k"}},
      {"dbsize", {kViewer, "DBSIZE"}},
      {"ping", {kNone, "PING"}},
      {"echo", {kNone, "ECHO x"}},
      {"hello", {kNone, "HELLO"}},
      {"auth", {kNone, "AUTH wrong"}},
      {"select", {kNone, "SELECT 0"}},
      {"client", {kNone, "CLIENT ID"}},
      {"command", {kNone, "COMMAND COUNT"}},
      {"config", {kNone, "CONFIG GET save"}},
      {"info", {kNone, "INFO"}},
      {"time", {kNone, "TIME"}},
      {"quit", {kNone, "QUIT"}},
      {"reset", {kNone, "RESET"}},
  };
  return expected;
}

class RespRolesTest : public ::testing::Test {
 protected:
  RespRolesTest() {
    services_.token = "a-bootstrap-token";
    for (const Role role : kRoles) {
      if (role != kNone) tokens_[role] = services_.AddToken({.role = role});
    }
  }
  static std::string SendTo(RespSession& session, std::string_view line) {
    session.Receive(std::string(line) + "\r\n");
    return std::exchange(session.output(), {});
  }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  testing::FakeTransport transport_;
  RespLoop loop_{services_};
  Peer peer_{.address = "192.0.2.7", .ip = ParseAddress("192.0.2.7")};
  std::map<Role, std::string> tokens_;
};

TEST_F(RespRolesTest, EveryCommandIsAnsweredFromItsRoleOnAndRefusedBelow) {
  services_.access.checks_need_token = true;
  for (const RespCommand& command : AllRespCommands()) {
    const auto expected = Expected().find(command.name);
    ASSERT_NE(expected, Expected().end()) << command.name << " has no expected role";
    for (const Role role : kRoles) {
      services_.steady_now += std::chrono::hours(1);
      RespSession session(loop_, transport_, peer_);
      if (role != kNone) {
        ASSERT_EQ(SendTo(session, "AUTH " + tokens_[role]), "+OK\r\n");
      }
      const std::string reply = SendTo(session, expected->second.line);
      if (role >= expected->second.least) {
        EXPECT_THAT(reply, Not(AnyOf(StartsWith("-NOPERM"), StartsWith("-NOAUTH"))))
            << command.name << " as " << LabelOf(role);
      } else {
        EXPECT_THAT(reply, StartsWith(role == kNone ? "-NOAUTH" : "-NOPERM"))
            << command.name << " as " << LabelOf(role);
      }
    }
  }
}

TEST_F(RespRolesTest, ChecksNeedATokenOnlyIfTheServerRequiresOne) {
  RespSession session(loop_, transport_, peer_);
  EXPECT_THAT(SendTo(session, "CL.THROTTLE k 5 10 60"), StartsWith("*5"));
}

TEST_F(RespRolesTest, ARevokedTokenEndsTheRoleOfAConnection) {
  RespSession session(loop_, transport_, peer_);
  ASSERT_EQ(SendTo(session, "AUTH " + tokens_[kOperator]), "+OK\r\n");
  EXPECT_EQ(SendTo(session, "DEL k"), ":0\r\n");
  services_.tokens.clear();
  services_.LoadTokens();
  EXPECT_THAT(SendTo(session, "DEL k"), StartsWith("-NOAUTH"));
  EXPECT_THAT(SendTo(session, "AUTH " + tokens_[kOperator]), StartsWith("-WRONGPASS"));
}

TEST_F(RespRolesTest, AnExpiredTokenEndsTheRoleOfAConnection) {
  const std::string token = services_.AddToken(
      {.role = kOperator, .expires_at = services_.now() + std::chrono::seconds(10)});
  RespSession session(loop_, transport_, peer_);
  ASSERT_EQ(SendTo(session, "AUTH " + token), "+OK\r\n");
  services_.clock.Advance(std::chrono::seconds(9));
  EXPECT_EQ(SendTo(session, "DEL k"), ":0\r\n");
  services_.clock.Advance(std::chrono::seconds(1));
  EXPECT_THAT(SendTo(session, "DEL k"), StartsWith("-NOAUTH"));
}

TEST_F(RespRolesTest, ALocalClientDoesNotBecomeAnAdministratorByLosingItsToken) {
  services_.token.clear();
  peer_ = {.address = "127.0.0.1", .is_local = true, .ip = ParseAddress("127.0.0.1")};
  RespSession session(loop_, transport_, peer_);
  ASSERT_EQ(SendTo(session, "AUTH " + tokens_[kViewer]), "+OK\r\n");
  EXPECT_THAT(SendTo(session, "DEL k"), StartsWith("-NOPERM"));
  services_.tokens.clear();
  services_.LoadTokens();
  EXPECT_THAT(SendTo(session, "DEL k"), StartsWith("-NOAUTH"));
}

TEST_F(RespRolesTest, ATokenWithAScopeChangesNothing) {
  const std::string token = services_.AddToken({.role = kEditor, .scope = "team-a/"});
  RespSession session(loop_, transport_, peer_);
  ASSERT_EQ(SendTo(session, "AUTH " + token), "+OK\r\n");
  EXPECT_THAT(SendTo(session, "DEL k"), StartsWith("-NOPERM 'del' changes more than the rules"));
  EXPECT_THAT(SendTo(session, "DBSIZE"), StartsWith(":"));
}

TEST_F(RespRolesTest, GuessesOfACreatedTokenAreBoundedByAddress) {
  services_.token.clear();
  const std::string id(identity::TokenIdOf(tokens_[kAdmin]));
  const std::string guess = "AUTH sluice_" + id + "_" + std::string(43, 'A');
  RespSession session(loop_, transport_, peer_);
  for (int i = 0; i < identity::TokenGuard::kBurst; ++i) {
    EXPECT_THAT(SendTo(session, guess), StartsWith("-WRONGPASS"));
  }
  EXPECT_THAT(SendTo(session, guess), StartsWith("-ERR too many"));
  EXPECT_TRUE(session.closing());
  RespSession other(loop_, transport_, {.address = "192.0.2.8", .ip = ParseAddress("192.0.2.8")});
  EXPECT_EQ(SendTo(other, "AUTH " + tokens_[kAdmin]), "+OK\r\n");
}

}  // namespace
}  // namespace sluice::api
