#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "api/resp/arguments.h"
#include "api/resp/client.h"
#include "api/resp/throttle.h"
#include "identity/principal.h"
#include "limiter/check_request.h"

namespace sluice::api {

/// Work that a command leaves to other threads.
struct RespWork {
  /// Starts it; `done` runs in a later turn of the loop, or never if the server stops first.
  std::function<void(std::function<void(std::string reply)> done)> start{};
};

/// A command of the Redis protocol: how it is called, who may, and what it does. It either answers
/// at once, or makes a check and a reply of its answer.
struct RespCommand {
  std::string_view name;  ///< In lower case.
  int arity;  ///< Arguments with the name, as Redis counts them: negative for "at least".
  int most;   ///< At most so many; 0: no bound.
  /// The least role that a client needs. kChecker: only if the server requires tokens of checks.
  identity::Role role;
  bool has_keys;  ///< All arguments but the name, if it is variadic; else the first.
  std::string_view usage;
  std::string_view summary;

  void (*answer)(RespClient& client, RespArguments arguments, std::string& out);

  /// False: `out` has the error reply, and nothing is asked.
  bool (*ask)(ThrottleLimits& limits, RespArguments arguments, limiter::CheckRequest& check,
              std::string& out);
  void (*reply)(const limiter::CheckRequest& check, std::string& out);
  /// Instead of both: begins work. False: `out` has the error reply.
  bool (*begin)(RespClient& client, RespArguments arguments, RespWork& work,
                std::string& out) = nullptr;

  /// Whether a token with a scope can't use it: it changes more than rules in a scope.
  [[nodiscard]] constexpr bool needs_whole_scope() const {
    return role >= identity::Role::kOperator;
  }
  /// Whether it is for administrators, of whatever role.
  [[nodiscard]] constexpr bool is_administrative() const { return role > identity::Role::kChecker; }
  [[nodiscard]] bool Takes(std::size_t arguments) const {
    const auto count = static_cast<int>(arguments);
    return (arity < 0 ? count >= -arity : count == arity) && (most == 0 || count <= most);
  }
};

[[nodiscard]] std::span<const RespCommand> AllRespCommands();
/// In any case. Null: there is none.
[[nodiscard]] const RespCommand* FindRespCommand(std::string_view name);

// The functions that the table points to, by subject.

// The connection: resp_connection_commands.cc.
void Ping(RespClient& client, RespArguments arguments, std::string& out);
void Echo(RespClient& client, RespArguments arguments, std::string& out);
void Hello(RespClient& client, RespArguments arguments, std::string& out);
void Auth(RespClient& client, RespArguments arguments, std::string& out);
void Select(RespClient& client, RespArguments arguments, std::string& out);
void Quit(RespClient& client, RespArguments arguments, std::string& out);
void Reset(RespClient& client, RespArguments arguments, std::string& out);
void ClientCommand(RespClient& client, RespArguments arguments, std::string& out);

// Live entries: entry_commands.cc.
bool BeginEntryCommand(RespClient& client, RespArguments arguments, RespWork& work,
                       std::string& out);

// The server: resp_server_commands.cc.
void CommandCommand(RespClient& client, RespArguments arguments, std::string& out);
void Config(RespClient& client, RespArguments arguments, std::string& out);
void Info(RespClient& client, RespArguments arguments, std::string& out);
void DbSize(RespClient& client, RespArguments arguments, std::string& out);
void Time(RespClient& client, RespArguments arguments, std::string& out);

}  // namespace sluice::api
