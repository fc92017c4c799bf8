#include "api/resp_commands.h"

#include <array>

#include "api/rule_commands.h"

namespace sluice::api {
namespace {

using limiter::Question;

// Rules need no limits of a client's own.
template <bool (*kAsk)(RespArguments, Question&, std::string&)>
bool ByRules(ThrottleLimits& /*limits*/, RespArguments arguments, Question& question,
             std::string& out) {
  return kAsk(arguments, question, out);
}

using Answer = void (*)(RespClient&, RespArguments, std::string&);

constexpr RespCommand AnsweredAtOnce(std::string_view name, int arity, int most, Answer answer,
                                     std::string_view summary) {
  return {.name = name,
          .arity = arity,
          .most = most,
          .for_administrators = false,
          .has_keys = false,
          .usage = {},
          .summary = summary,
          .answer = answer,
          .ask = nullptr,
          .reply = nullptr};
}

constexpr RespCommand ForAdministrators(RespCommand command) {
  command.for_administrators = true;
  return command;
}

// Those of many calls come first. Lengths differ mostly, so looking through all is quick.
constexpr std::array kCommands = {
    RespCommand{.name = "cl.throttle",
                .arity = -5,
                .most = 6,
                .for_administrators = false,
                .has_keys = true,
                .usage = "CL.THROTTLE key max_burst count period [quantity]",
                .summary = "Takes from a token bucket whose numbers the caller brings.",
                .answer = nullptr,
                .ask = AskThrottle,
                .reply = ReplyThrottle},
    RespCommand{.name = "sluice.check",
                .arity = -3,
                .most = 0,
                .for_administrators = false,
                .has_keys = false,
                .usage = "SLUICE.CHECK attribute value [attribute value ...] [COST n]",
                .summary = "Decides a call by the rules.",
                .answer = nullptr,
                .ask = ByRules<AskCheck>,
                .reply = ReplyDecision},
    RespCommand{.name = "sluice.peek",
                .arity = -3,
                .most = 0,
                .for_administrators = false,
                .has_keys = false,
                .usage = "SLUICE.PEEK attribute value [attribute value ...] [COST n]",
                .summary = "Says what SLUICE.CHECK would, and takes nothing.",
                .answer = nullptr,
                .ask = ByRules<AskPeek>,
                .reply = ReplyDecision},
    RespCommand{.name = "sluice.reset",
                .arity = -3,
                .most = 0,
                .for_administrators = true,
                .has_keys = false,
                .usage = "SLUICE.RESET attribute value [attribute value ...]",
                .summary = "Forgets what a call's limits have counted.",
                .answer = nullptr,
                .ask = ByRules<AskReset>,
                .reply = ReplyAffected},
    RespCommand{.name = "sluice.grant",
                .arity = -5,
                .most = 0,
                .for_administrators = true,
                .has_keys = false,
                .usage = "SLUICE.GRANT attribute value [attribute value ...] AMOUNT n",
                .summary = "Gives a call's limits more to spend, once.",
                .answer = nullptr,
                .ask = ByRules<AskGrant>,
                .reply = ReplyGranted},
    RespCommand{.name = "del",
                .arity = -2,
                .most = 0,
                .for_administrators = true,
                .has_keys = true,
                .usage = {},
                .summary = "Forgets keys of CL.THROTTLE.",
                .answer = nullptr,
                .ask = AskForget,
                .reply = ReplyAffected},
    RespCommand{.name = "unlink",
                .arity = -2,
                .most = 0,
                .for_administrators = true,
                .has_keys = true,
                .usage = {},
                .summary = "Forgets keys of CL.THROTTLE.",
                .answer = nullptr,
                .ask = AskForget,
                .reply = ReplyAffected},
    AnsweredAtOnce("ping", -1, 2, Ping, "Answers PONG, or what it is given."),
    AnsweredAtOnce("echo", 2, 0, Echo, "Answers what it is given."),
    AnsweredAtOnce("hello", -1, 0, Hello, "Chooses RESP2 or RESP3, and may log in."),
    AnsweredAtOnce("auth", -2, 3, Auth, "Shows the admin token."),
    AnsweredAtOnce("select", 2, 0, Select, "There is one database: 0."),
    AnsweredAtOnce("client", -2, 0, ClientCommand, "About this connection."),
    AnsweredAtOnce("command", -1, 0, CommandCommand, "About the commands."),
    AnsweredAtOnce("config", -2, 0, Config, "Settings that Redis clients ask for."),
    AnsweredAtOnce("info", -1, 0, Info, "About the server; to administrators also its numbers."),
    AnsweredAtOnce("time", 1, 0, Time, "The server's time: seconds and microseconds."),
    AnsweredAtOnce("quit", -1, 0, Quit, "Ends the connection."),
    AnsweredAtOnce("reset", 1, 0, Reset, "Makes the connection as if it were new."),
    ForAdministrators(AnsweredAtOnce("dbsize", 1, 0, DbSize, "How many keys are held.")),
};

}  // namespace

std::span<const RespCommand> AllRespCommands() { return kCommands; }

const RespCommand* FindRespCommand(std::string_view name) {
  for (const RespCommand& command : kCommands) {
    if (EqualsIgnoringCase(name, command.name)) return &command;
  }
  return nullptr;
}

}  // namespace sluice::api
