#include "api/resp/commands.h"

#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/resp/loop.h"
#include "api/resp/session.h"
#include "api/testing/delayed_store.h"
#include "api/testing/fake_services.h"

namespace sluice::api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class RespCommandsTest : public ::testing::Test {
 protected:
  // Inline: what quoting is needed is that of redis-cli.
  static std::string SendTo(RespSession& session, std::string_view line) {
    session.Receive(std::string(line) + "\r\n");
    return std::exchange(session.output(), {});
  }
  std::string Send(std::string_view line) { return SendTo(local_, line); }
  std::string SendFromAfar(std::string_view line) { return SendTo(remote_, line); }
  void Load(std::string_view yaml) {
    ASSERT_EQ(LoadRules(services_.rules(), "rules.yaml", yaml, services_.now()).outcome,
              LoadOutcome::kActivated);
  }

  testing::DelayedStore store_;
  testing::FakeServices services_{store_};
  testing::FakeTransport transport_;
  RespLoop loop_{services_};
  RespSession local_{loop_, transport_, {.address = "127.0.0.1", .is_local = true, .port = 40001}};
  RespSession remote_{loop_, transport_, {.address = "192.0.2.1", .is_local = false}};
};

TEST_F(RespCommandsTest, UnknownCommandsAreRefusedInRedisWords) {
  EXPECT_EQ(Send("nope a \"b\\r\\n\""),
            "-ERR unknown command 'nope', with args beginning with: 'a' 'b  ' \r\n");
  EXPECT_EQ(Send("nope"), "-ERR unknown command 'nope', with args beginning with: \r\n");
  EXPECT_LT(Send("nope " + std::string(1000, 'x') + " y z").size(), 300U);
}

TEST_F(RespCommandsTest, WrongArityIsRefusedInRedisWords) {
  EXPECT_EQ(Send("echo"), "-ERR wrong number of arguments for 'echo' command\r\n");
  EXPECT_EQ(Send("PING a b"), "-ERR wrong number of arguments for 'ping' command\r\n");
  EXPECT_EQ(Send("client setname"),
            "-ERR wrong number of arguments for 'client|setname' command\r\n");
  EXPECT_THAT(Send("sluice.check a"),
              StartsWith("-ERR wrong number of arguments for 'sluice.check'"));
}

TEST_F(RespCommandsTest, HelloTellsWhoIsThereInBothProtocols) {
  EXPECT_THAT(Send("HELLO"), AllOf(StartsWith("*14\r\n$6\r\nserver\r\n$6\r\nsluice\r\n"),
                                   HasSubstr("$5\r\nproto\r\n:2\r\n")));
  EXPECT_THAT(Send("HELLO 3"), AllOf(StartsWith("%7\r\n"), HasSubstr("$5\r\nproto\r\n:3\r\n"),
                                     HasSubstr("$7\r\nversion\r\n$5\r\n1.2.3\r\n"),
                                     HasSubstr("$7\r\nmodules\r\n*0\r\n")));
  EXPECT_EQ(Send("CLIENT GETNAME"), "_\r\n");
  EXPECT_THAT(Send("CONFIG GET save"), "%1\r\n$4\r\nsave\r\n$0\r\n\r\n");
  EXPECT_THAT(Send("HELLO 2 SETNAME me"), StartsWith("*14\r\n"));
  EXPECT_EQ(Send("CLIENT GETNAME"), "$2\r\nme\r\n");
}

TEST_F(RespCommandsTest, AHelloThatMakesNoSenseChangesNothing) {
  EXPECT_EQ(Send("HELLO 4"), "-NOPROTO unsupported protocol version\r\n");
  EXPECT_EQ(Send("HELLO x"), "-ERR Protocol version is not an integer or out of range\r\n");
  EXPECT_EQ(Send("HELLO 3 SETNAME"), "-ERR Syntax error in HELLO option 'SETNAME'\r\n");
  EXPECT_EQ(Send("HELLO 3 AUTH stranger x"),
            "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  EXPECT_EQ(Send("CLIENT GETNAME"), "$-1\r\n") << "still RESP2";
}

TEST_F(RespCommandsTest, AuthWithoutATokenIsAsWithRedis) {
  EXPECT_THAT(Send("AUTH x"), StartsWith("-ERR AUTH <password> called without any password"));
  EXPECT_EQ(Send("AUTH default x"), "+OK\r\n");
  EXPECT_THAT(Send("AUTH stranger x"), StartsWith("-WRONGPASS"));
}

TEST_F(RespCommandsTest, WithoutATokenOnlyLocalClientsAdminister) {
  EXPECT_EQ(Send("DEL k"), ":0\r\n");
  for (const char* line : {"DEL k", "UNLINK k", "SLUICE.RESET api_key k",
                           "SLUICE.GRANT api_key k AMOUNT 1", "DBSIZE"}) {
    EXPECT_THAT(SendFromAfar(line), StartsWith("-NOPERM ")) << line;
  }
  EXPECT_EQ(SendFromAfar("AUTH default x"), "+OK\r\n");
  EXPECT_THAT(SendFromAfar("DEL k"), StartsWith("-NOPERM ")) << "any password is no password";
  EXPECT_THAT(SendFromAfar("INFO"), Not(HasSubstr("store_keys")));
  EXPECT_THAT(Send("INFO"), HasSubstr("store_keys:42\r\n"));
}

TEST_F(RespCommandsTest, WhoGuessesTheTokenTooOftenIsCutOff) {
  services_.token = "secret";
  RespSession guesser(loop_, transport_, {.address = "192.0.2.7", .ip = ParseAddress("192.0.2.7")});
  for (int i = 0; i < identity::TokenGuard::kBurst; ++i) {
    EXPECT_THAT(SendTo(guesser, i % 2 == 0 ? "AUTH wrong" : "HELLO 3 AUTH stranger secret"),
                StartsWith("-WRONGPASS "));
  }
  EXPECT_FALSE(guesser.closing());
  EXPECT_THAT(SendTo(guesser, "AUTH wrong"), StartsWith("-ERR too many wrong passwords"));
  EXPECT_TRUE(guesser.closing());
  EXPECT_EQ(services_.token_failures, identity::TokenGuard::kBurst + 1U);
  RespSession again(loop_, transport_, {.address = "192.0.2.7", .ip = ParseAddress("192.0.2.7")});
  EXPECT_THAT(SendTo(again, "AUTH secret"), StartsWith("-ERR too many")) << "not even compared";
  RespSession other(loop_, transport_, {.address = "192.0.2.8", .ip = ParseAddress("192.0.2.8")});
  EXPECT_EQ(SendTo(other, "AUTH secret"), "+OK\r\n");
}

TEST_F(RespCommandsTest, BehindATrustedProxyTheRightTokenIsAlwaysAccepted) {
  services_.token = "secret";
  const Peer proxy{.address = "127.0.0.1", .is_local = true, .ip = ParseAddress("127.0.0.1")};
  for (int i = 0; i < 2 * identity::TokenGuard::kBurst; ++i) {
    RespSession guesser(loop_, transport_, proxy);
    EXPECT_THAT(SendTo(guesser, "AUTH wrong"), StartsWith("-"));
    EXPECT_EQ(guesser.closing(), i >= identity::TokenGuard::kBurst) << i;
  }
  RespSession administrator(loop_, transport_, proxy);
  EXPECT_EQ(SendTo(administrator, "AUTH secret"), "+OK\r\n");
}

TEST_F(RespCommandsTest, WithATokenOnlyThoseAdministerWhoShowIt) {
  services_.token = "secret";
  EXPECT_THAT(Send("DEL k"), StartsWith("-NOAUTH ")) << "local clients too";
  EXPECT_THAT(SendFromAfar("AUTH wrong"), StartsWith("-WRONGPASS "));
  EXPECT_THAT(SendFromAfar("DEL k"), StartsWith("-NOAUTH "));
  EXPECT_EQ(SendFromAfar("AUTH secret"), "+OK\r\n");
  EXPECT_EQ(SendFromAfar("DEL k"), ":0\r\n");
  EXPECT_THAT(SendFromAfar("AUTH wrong"), StartsWith("-WRONGPASS "));
  EXPECT_EQ(SendFromAfar("DEL k"), ":0\r\n")
      << "a wrong password takes nothing away, as with Redis";
  EXPECT_EQ(SendFromAfar("RESET"), "+RESET\r\n");
  EXPECT_THAT(SendFromAfar("DEL k"), StartsWith("-NOAUTH "));
  EXPECT_THAT(SendFromAfar("HELLO 3 AUTH default secret"), StartsWith("%7\r\n"));
  EXPECT_EQ(SendFromAfar("DEL k"), ":0\r\n");
  EXPECT_THAT(SendFromAfar("CL.THROTTLE k 1 1 1"), StartsWith("*5\r\n")) << "checks need no token";
}

TEST_F(RespCommandsTest, ThereIsOneDatabase) {
  EXPECT_EQ(Send("SELECT 0"), "+OK\r\n");
  EXPECT_EQ(Send("SELECT 1"), "-ERR DB index is out of range\r\n");
  EXPECT_EQ(Send("SELECT x"), "-ERR invalid DB index\r\n");
}

TEST_F(RespCommandsTest, ClientsTellAndAskAboutThemselves) {
  EXPECT_EQ(Send("CLIENT SETNAME worker-1"), "+OK\r\n");
  EXPECT_EQ(Send("CLIENT GETNAME"), "$8\r\nworker-1\r\n");
  EXPECT_THAT(Send("CLIENT SETNAME \"a b\""),
              StartsWith("-ERR Client names cannot contain spaces"));
  EXPECT_THAT(Send("CLIENT SETNAME " + std::string(1000, 'x')), StartsWith("-ERR Client names"));
  EXPECT_EQ(Send("CLIENT SETINFO LIB-NAME redis-py"), "+OK\r\n");
  EXPECT_EQ(Send("CLIENT SETINFO lib-ver 5.0"), "+OK\r\n");
  EXPECT_EQ(Send("CLIENT SETINFO color red"), "-ERR Unrecognized option 'color'\r\n");
  EXPECT_THAT(
      Send("CLIENT INFO"),
      AllOf(HasSubstr("addr=127.0.0.1:40001 "), HasSubstr("name=worker-1 "),
            HasSubstr("lib-name=redis-py "), HasSubstr("lib-ver=5.0 "), HasSubstr("resp=2\n")));
  EXPECT_NE(Send("CLIENT ID"), SendFromAfar("CLIENT ID"));
  EXPECT_THAT(SendFromAfar("CLIENT LIST"), Not(HasSubstr("worker-1")))
      << "other connections are not listed";
  EXPECT_EQ(Send("CLIENT NO-EVICT on"), "+OK\r\n");
  EXPECT_EQ(Send("CLIENT NO-TOUCH off"), "+OK\r\n");
  EXPECT_EQ(Send("CLIENT REPLY ON"), "+OK\r\n");
  EXPECT_EQ(Send("CLIENT KILL x"), "-ERR unknown subcommand 'KILL'. Try CLIENT HELP.\r\n");
}

TEST_F(RespCommandsTest, TheHelpThatErrorsPointToIsThere) {
  EXPECT_THAT(Send("CLIENT HELP"), AllOf(StartsWith("*"), HasSubstr("+SETNAME <name>\r\n")));
  EXPECT_THAT(Send("CONFIG help"), AllOf(StartsWith("*5\r\n"), HasSubstr("+GET <pattern>")));
  EXPECT_THAT(Send("COMMAND HELP"), AllOf(StartsWith("*"), HasSubstr("+DOCS [<name> ...]\r\n")));
}

TEST_F(RespCommandsTest, CommandTellsWhatThereIs) {
  std::string count = std::to_string(AllRespCommands().size());
  count += "\r\n";
  const std::string array = std::string("*").append(count);
  EXPECT_EQ(Send("COMMAND COUNT"), std::string(":").append(count));
  EXPECT_THAT(Send("COMMAND"), StartsWith(array + "*7\r\n$11\r\ncl.throttle\r\n:-5\r\n"));
  EXPECT_THAT(Send("COMMAND LIST"), StartsWith(array));
  EXPECT_EQ(Send("COMMAND INFO nope"), "*1\r\n$-1\r\n");
  EXPECT_THAT(Send("COMMAND INFO DEL"), StartsWith("*1\r\n*7\r\n$3\r\ndel\r\n:-2\r\n"));
  EXPECT_THAT(Send("COMMAND DOCS ping nope"),
              StartsWith("*2\r\n$4\r\nping\r\n*4\r\n$7\r\nsummary\r\n"));
  EXPECT_THAT(Send("COMMAND GETKEYS"), StartsWith("-ERR unknown subcommand 'GETKEYS'"));
}

TEST_F(RespCommandsTest, ConfigGetSaysWhatClientsAskFor) {
  EXPECT_EQ(Send("CONFIG GET save"), "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
  EXPECT_EQ(Send("CONFIG GET append* nope"), "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n");
  EXPECT_EQ(Send("CONFIG GET nope"), "*0\r\n");
  EXPECT_EQ(Send("CONFIG GET timeout"), "*2\r\n$7\r\ntimeout\r\n$3\r\n300\r\n");
  EXPECT_EQ(Send("CONFIG GET"), "-ERR wrong number of arguments for 'config|get' command\r\n");
  EXPECT_THAT(Send("CONFIG SET save x"), StartsWith("-ERR unknown subcommand 'SET'"));
}

TEST_F(RespCommandsTest, InfoSaysWhatClientsLookFor) {
  EXPECT_THAT(SendFromAfar("INFO"), AllOf(HasSubstr("redis_version:"), HasSubstr("loading:0\r\n"),
                                          HasSubstr("role:master")));
  EXPECT_THAT(Send("INFO replication"),
              AllOf(HasSubstr("role:"), Not(HasSubstr("redis_version:"))));
  EXPECT_EQ(Send("INFO nothing"), "$0\r\n\r\n");
}

TEST_F(RespCommandsTest, TheServersNumbers) {
  EXPECT_EQ(Send("DBSIZE"), ":42\r\n");
  EXPECT_EQ(Send("TIME"), "*2\r\n$10\r\n1900000000\r\n$1\r\n0\r\n");
}

TEST_F(RespCommandsTest, ChecksGoByTheRules) {
  Load("rules:\n  - { id: api, algorithm: fixed_window, limit: 3, window: 60 }\n");
  EXPECT_EQ(Send("SLUICE.CHECK api_key alice COST 2"),
            "*8\r\n:1\r\n:3\r\n:1\r\n:0\r\n:20000\r\n$3\r\napi\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Send("SLUICE.PEEK api_key alice cost 2"),
            "*8\r\n:0\r\n:3\r\n:1\r\n:20000\r\n:20000\r\n$3\r\napi\r\n:0\r\n:0\r\n");
  EXPECT_THAT(Send("SLUICE.CHECK api_key alice"), StartsWith("*8\r\n:1\r\n:3\r\n:0\r\n"));
  EXPECT_THAT(Send("SLUICE.CHECK api_key alice"), StartsWith("*8\r\n:0\r\n"));
  EXPECT_THAT(Send("SLUICE.CHECK api_key bob COST 4"),
              StartsWith("*8\r\n:0\r\n:3\r\n:3\r\n:-1\r\n"))
      << "that never fits";
  EXPECT_EQ(Send("SLUICE.RESET api_key alice"), ":1\r\n");
  EXPECT_EQ(Send("SLUICE.GRANT api_key alice AMOUNT 5"), ":1\r\n");
  EXPECT_THAT(Send("SLUICE.CHECK api_key alice COST 8"), StartsWith("*8\r\n:1\r\n"));
}

TEST_F(RespCommandsTest, DecisionsLookTheSameInResp3) {
  Load("rules:\n  - { id: api, algorithm: fixed_window, limit: 3, window: 60 }\n");
  Send("HELLO 3");
  EXPECT_EQ(Send("SLUICE.CHECK api_key alice"),
            "*8\r\n:1\r\n:3\r\n:2\r\n:0\r\n:20000\r\n$3\r\napi\r\n:0\r\n:0\r\n");
  EXPECT_EQ(Send("CL.THROTTLE k 15 30 60"), "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n");
}

TEST_F(RespCommandsTest, ALeakyBucketSaysHowLongToWait) {
  Load("rules:\n  - { id: slow, algorithm: leaky_bucket, capacity: 10, leak_rate: 2 }\n");
  Send("SLUICE.CHECK api_key alice");
  EXPECT_THAT(Send("SLUICE.CHECK api_key alice"),
              ::testing::EndsWith("$4\r\nslow\r\n:0\r\n:500\r\n"));
}

TEST_F(RespCommandsTest, CallsWithoutALimitSaySo) {
  Load(R"(
rules: [{ id: api, match: { api_key: alice }, limit: 1/h }]
allow: [friend]
deny: [foe]
)");
  EXPECT_EQ(Send("SLUICE.CHECK api_key bob"),
            "*8\r\n:1\r\n:-1\r\n:-1\r\n:0\r\n:0\r\n$0\r\n\r\n:0\r\n:0\r\n");
  EXPECT_THAT(Send("SLUICE.CHECK api_key friend"), StartsWith("*8\r\n:1\r\n:-1\r\n"));
  EXPECT_THAT(Send("SLUICE.CHECK api_key foe"), StartsWith("*8\r\n:0\r\n:-1\r\n:-1\r\n:-1\r\n"));
}

TEST_F(RespCommandsTest, ShadowLimitsAreNotReported) {
  Load("rules: [{ id: quiet, shadow: true, limit: 1/h }]");
  EXPECT_EQ(Send("SLUICE.CHECK api_key bob"),
            "*8\r\n:1\r\n:-1\r\n:-1\r\n:0\r\n:0\r\n$0\r\n\r\n:0\r\n:0\r\n");
}

TEST_F(RespCommandsTest, ARuleThatHidesIsNamedOnlyWhereItDenies) {
  Load("rules: [{ id: quiet, headers: false, limit: 1/h }, { id: loud, limit: 5/h }]");
  EXPECT_THAT(Send("SLUICE.CHECK api_key bob"), HasSubstr("$4\r\nloud\r\n"));
  EXPECT_THAT(Send("SLUICE.CHECK api_key bob"), HasSubstr("$5\r\nquiet\r\n"));
}

TEST_F(RespCommandsTest, AGrantThatNoLimitTakesIsAnError) {
  Load("rules: [{ id: slots, match: { api_key: alice }, algorithm: concurrency, limit: 3 }]");
  EXPECT_THAT(Send("SLUICE.GRANT api_key alice AMOUNT 5"),
              StartsWith("-ERR rule slots limits concurrency"));
  EXPECT_EQ(Send("SLUICE.GRANT api_key bob AMOUNT 5"),
            "-ERR no limit matches: nothing was granted\r\n");
}

TEST_F(RespCommandsTest, DegradedDecisionsSaySo) {
  Load("rules:\n  - { id: api, limit: 3/h }\n");
  store_.failure = ErrorCode::kStoreUnavailable;
  EXPECT_EQ(Send("SLUICE.CHECK api_key alice"),
            "*8\r\n:1\r\n:-1\r\n:-1\r\n:0\r\n:0\r\n$3\r\napi\r\n:1\r\n:0\r\n");
  EXPECT_EQ(Send("SLUICE.RESET api_key alice"), "-ERR storage unavailable: store_unavailable\r\n");
  EXPECT_EQ(Send("DEL alice"), "-ERR storage unavailable: store_unavailable\r\n");
  Load("rules:\n  - { id: api, limit: 3/h, on_store_failure: closed }\n");
  EXPECT_EQ(Send("SLUICE.CHECK api_key alice"),
            "*8\r\n:0\r\n:3\r\n:0\r\n:1000\r\n:0\r\n$3\r\napi\r\n:1\r\n:0\r\n");
}

TEST_F(RespCommandsTest, WrongQuestionsAreRefusedAndTakeNothing) {
  Load("rules:\n  - { id: api, limit: 10/h, max_cost: 5 }\n");
  EXPECT_EQ(Send("SLUICE.CHECK api_key alice endpoint"),
            "-ERR attributes come as name and value: 'endpoint' has no value\r\n");
  EXPECT_EQ(Send("SLUICE.CHECK api_key alice COST x"),
            "-ERR cost must be an integer between 0 and 9007199254740992, found 'x'\r\n");
  EXPECT_THAT(Send("SLUICE.CHECK api_key alice COST -1"), StartsWith("-ERR cost must be"));
  EXPECT_EQ(Send("SLUICE.CHECK api_key alice COST 6"),
            "-ERR invalid_cost: rule api: the cost of 6 is more than max_cost 5\r\n");
  EXPECT_THAT(Send("SLUICE.GRANT api_key alice x 1"), StartsWith("-ERR AMOUNT n is missing"));
  EXPECT_THAT(Send("SLUICE.GRANT api_key alice"), HasSubstr(" AMOUNT n"));
  EXPECT_THAT(Send("SLUICE.GRANT api_key alice AMOUNT 0"), StartsWith("-ERR amount must be"));
  EXPECT_EQ(store_.submitted(), 0U);
}

}  // namespace
}  // namespace sluice::api
