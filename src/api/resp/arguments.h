#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <sluice/result.h>

#include "answer/problem.h"

/// Reading the arguments of Redis commands, and refusing wrong ones.
namespace sluice::api {

/// A command's, its name first.
using RespArguments = std::span<const std::string_view>;

/// A named argument between two bounds. False: `out` has the error reply.
[[nodiscard]] bool ReadBounded(std::string_view name, std::string_view text, std::int64_t low,
                               std::int64_t high, std::int64_t& number, std::string& out);

/// "ERR wrong number of arguments for 'x' command", and how it is called, if given.
void AppendWrongArity(std::string_view name, std::string_view usage, std::string& out);

/// "ERR unknown subcommand 'x'. Try CLIENT HELP." The command in capitals.
void AppendUnknownSubcommand(std::string_view command, std::string_view subcommand,
                             std::string& out);

/// Appends the reply of a command's HELP, one line each.
void AppendHelp(std::initializer_list<std::string_view> lines, std::string& out);

/// As much of a client's text as an error reply quotes.
[[nodiscard]] std::string_view Quotable(std::string_view text);

/// Appends a problem as an error reply: "ERR INVALID_RECEIPT: receipt: it was not made here".
void AppendProblemError(const Problem& problem, std::string& out);

/// Appends the reply for a failure of the store: "ERR storage unavailable: store_timeout".
void AppendStorageError(ErrorCode code, std::string& out);

}  // namespace sluice::api
