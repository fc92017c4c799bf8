#include "api/resp/commands.h"

#include <array>

#include "api/resp/counter.h"
#include "api/resp/loop.h"
#include "api/resp/rule_commands.h"
#include "base/ascii.h"

namespace sluice::api {
namespace {

using identity::Role;
using limiter::CheckRequest;

// Commands of one check: by rules, or with a limit of the client's own.
template <bool (*kAsk)(RespArguments, CheckRequest&, std::string&)>
bool ByRules(RespLoop& /*loop*/, RespArguments arguments, RespCall& call, std::string& out) {
  return kAsk(arguments, call.part(0).check, out);
}
template <bool (*kAsk)(ThrottleLimits&, RespArguments, CheckRequest&, std::string&)>
bool ByLimit(RespLoop& loop, RespArguments arguments, RespCall& call, std::string& out) {
  return kAsk(loop.throttle_limits(), arguments, call.part(0).check, out);
}
template <void (*kReply)(const CheckRequest&, std::string&)>
void OfCheck(RespCall& call, std::string& out) {
  kReply(call.part(0).check, out);
}

using CommandHandler = void (*)(RespClient&, RespArguments, std::string&);

constexpr RespCommand AnsweredAtOnce(std::string_view name, int arity, int most,
                                     CommandHandler answer, std::string_view summary) {
  return {.name = name,
          .arity = arity,
          .most = most,
          .role = Role::kNone,
          .has_keys = false,
          .usage = {},
          .summary = summary,
          .answer = answer,
          .ask = nullptr,
          .reply = nullptr};
}

constexpr RespCommand ForRole(Role role, RespCommand command) {
  command.role = role;
  return command;
}

// Those of many calls come first. Lengths differ mostly, so looking through all is quick.
constexpr std::array kCommands = {
    RespCommand{.name = "cl.throttle",
                .arity = -5,
                .most = 6,
                .role = Role::kChecker,
                .has_keys = true,
                .usage = "CL.THROTTLE key max_burst count period [quantity]",
                .summary = "Consumes from a token bucket with the caller's numbers.",
                .answer = nullptr,
                .ask = ByLimit<AskThrottle>,
                .reply = OfCheck<ReplyThrottle>},
    RespCommand{.name = "increx",
                .arity = -2,
                .most = 16,
                .role = Role::kChecker,
                .has_keys = true,
                .usage = "INCREX key [BYINT n] [UBOUND max] EX seconds | PX milliseconds ENX",
                .summary = "Counts in a window that begins at the first hit.",
                .answer = nullptr,
                .ask = ByLimit<AskIncrex>,
                .reply = OfCheck<ReplyIncrex>},
    RespCommand{.name = "sluice.check",
                .arity = -3,
                .most = 0,
                .role = Role::kChecker,
                .has_keys = false,
                .usage = "SLUICE.CHECK attribute value [attribute value ...] [COST n]",
                .summary = "Decides a call by the rules.",
                .answer = nullptr,
                .ask = ByRules<AskCheck>,
                .reply = OfCheck<ReplyDecision>},
    RespCommand{.name = "sluice.peek",
                .arity = -3,
                .most = 0,
                .role = Role::kChecker,
                .has_keys = false,
                .usage = "SLUICE.PEEK attribute value [attribute value ...] [COST n]",
                .summary = "Dry run of SLUICE.CHECK: consumes nothing.",
                .answer = nullptr,
                .ask = ByRules<AskPeek>,
                .reply = OfCheck<ReplyDecision>},
    RespCommand{.name = "sluice.reserve",
                .arity = -4,
                .most = 0,
                .role = Role::kChecker,
                .has_keys = false,
                .usage = "SLUICE.RESERVE attribute value [attribute value ...] USE quantity amount "
                         "[quantity amount ...]",
                .summary = "Decides a call by what it uses, and returns its receipt.",
                .answer = nullptr,
                .ask = AskReserve,
                .reply = ReplyReserved},
    RespCommand{.name = "sluice.settle",
                .arity = -2,
                .most = 0,
                .role = Role::kChecker,
                .has_keys = false,
                .usage = "SLUICE.SETTLE receipt [PARTIAL] [quantity amount ...]",
                .summary = "Corrects a reservation to the real usage.",
                .answer = nullptr,
                .ask = AskSettle,
                .reply = ReplySettled},
    RespCommand{.name = "sluice.cancel",
                .arity = 2,
                .most = 2,
                .role = Role::kChecker,
                .has_keys = false,
                .usage = "SLUICE.CANCEL receipt",
                .summary = "Gives a reservation back.",
                .answer = nullptr,
                .ask = AskCancel,
                .reply = ReplySettled},
    RespCommand{.name = "sluice.extend",
                .arity = 2,
                .most = 2,
                .role = Role::kChecker,
                .has_keys = false,
                .usage = "SLUICE.EXTEND receipt",
                .summary = "Keeps the slots and the reservation of a long call.",
                .answer = nullptr,
                .ask = AskExtend,
                .reply = ReplyExtended},
    RespCommand{.name = "sluice.reset",
                .arity = -3,
                .most = 0,
                .role = Role::kOperator,
                .has_keys = false,
                .usage = "SLUICE.RESET attribute value [attribute value ...]",
                .summary = "Resets the limits of a call.",
                .answer = nullptr,
                .ask = ByRules<AskReset>,
                .reply = OfCheck<ReplyAffected>},
    RespCommand{.name = "sluice.grant",
                .arity = -5,
                .most = 0,
                .role = Role::kOperator,
                .has_keys = false,
                .usage = "SLUICE.GRANT attribute value [attribute value ...] AMOUNT n",
                .summary = "Grants extra units to the limits of a call.",
                .answer = nullptr,
                .ask = ByRules<AskGrant>,
                .reply = OfCheck<ReplyGranted>},
    RespCommand{.name = "sluice.entry",
                .arity = -4,
                .most = 0,
                .role = Role::kOperator,
                .has_keys = false,
                .usage = "SLUICE.ENTRY BLOCK|UNBLOCK attribute value [attribute value ...] [EX "
                         "seconds | NEVER] [STATUS 403|429] [REASON text]",
                .summary = "Blocks a caller on all servers, or removes its block.",
                .answer = nullptr,
                .ask = nullptr,
                .reply = nullptr,
                .begin = BeginEntryCommand},
    RespCommand{.name = "get",
                .arity = 2,
                .most = 2,
                .role = Role::kChecker,
                .has_keys = true,
                .usage = "GET key",
                .summary = "Returns the count of INCREX.",
                .answer = nullptr,
                .ask = ByLimit<AskCounter>,
                .reply = OfCheck<ReplyCount>},
    RespCommand{.name = "pttl",
                .arity = 2,
                .most = 2,
                .role = Role::kChecker,
                .has_keys = true,
                .usage = "PTTL key",
                .summary = "Returns the milliseconds until a window of INCREX ends.",
                .answer = nullptr,
                .ask = ByLimit<AskCounter>,
                .reply = OfCheck<ReplyTimeToLive>},
    RespCommand{.name = "del",
                .arity = -2,
                .most = 0,
                .role = Role::kOperator,
                .has_keys = true,
                .usage = {},
                .summary = "Deletes keys of CL.THROTTLE and INCREX.",
                .answer = nullptr,
                .ask = ByLimit<AskForget>,
                .reply = OfCheck<ReplyAffected>},
    RespCommand{.name = "unlink",
                .arity = -2,
                .most = 0,
                .role = Role::kOperator,
                .has_keys = true,
                .usage = {},
                .summary = "Deletes keys of CL.THROTTLE and INCREX.",
                .answer = nullptr,
                .ask = ByLimit<AskForget>,
                .reply = OfCheck<ReplyAffected>},
    AnsweredAtOnce("ping", -1, 2, Ping, "Returns PONG or the argument."),
    AnsweredAtOnce("echo", 2, 0, Echo, "Returns the argument."),
    AnsweredAtOnce("hello", -1, 0, Hello, "Chooses RESP2 or RESP3, and may log in."),
    AnsweredAtOnce("auth", -2, 3, Auth, "Authenticates with a token."),
    AnsweredAtOnce("select", 2, 0, Select, "There is one database: 0."),
    AnsweredAtOnce("client", -2, 0, ClientCommand, "About this connection."),
    AnsweredAtOnce("command", -1, 0, CommandCommand, "About the commands."),
    AnsweredAtOnce("config", -2, 0, Config, "Settings that Redis clients ask for."),
    AnsweredAtOnce("info", -1, 0, Info, "About the server; to administrators also its numbers."),
    AnsweredAtOnce("time", 1, 0, Time, "The server's time: seconds and microseconds."),
    AnsweredAtOnce("quit", -1, 0, Quit, "Closes the connection."),
    AnsweredAtOnce("reset", 1, 0, Reset, "Resets the connection."),
    ForRole(Role::kViewer, AnsweredAtOnce("dbsize", 1, 0, DbSize, "How many keys are held.")),
};

}  // namespace

std::span<const RespCommand> AllRespCommands() { return kCommands; }

const RespCommand* FindRespCommand(std::string_view name) {
  for (const RespCommand& command : kCommands) {
    if (EqualIgnoringCase(name, command.name)) return &command;
  }
  return nullptr;
}

}  // namespace sluice::api
