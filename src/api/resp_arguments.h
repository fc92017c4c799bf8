#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include <sluice/result.h>

/// What the commands of the Redis protocol share: reading arguments and refusing wrong ones.
namespace sluice::api {

/// A command's, its name first.
using RespArguments = std::span<const std::string_view>;

/// `lower` is in lower case.
[[nodiscard]] bool EqualsIgnoringCase(std::string_view text, std::string_view lower);

/// A decimal integer and nothing else. False: it is not one, or too large to hold.
[[nodiscard]] bool ReadInteger(std::string_view text, std::int64_t& number);

/// A named argument between two bounds. False: `out` has the error reply.
[[nodiscard]] bool ReadBounded(std::string_view name, std::string_view text, std::int64_t low,
                               std::int64_t high, std::int64_t& number, std::string& out);

/// "ERR wrong number of arguments for 'x' command", and how it is called, if given.
void AppendWrongArity(std::string_view name, std::string_view usage, std::string& out);

/// "ERR unknown subcommand 'x'. Try CLIENT HELP." The command in capitals.
void AppendUnknownSubcommand(std::string_view command, std::string_view subcommand,
                             std::string& out);

/// What a command's HELP answers: a line each.
void AppendHelp(std::initializer_list<std::string_view> lines, std::string& out);

/// As much of a client's text as an error reply quotes.
[[nodiscard]] std::string_view Quotable(std::string_view text);

/// What a store's failure is called in a reply: "ERR storage unavailable: store_timeout".
void AppendStorageError(ErrorCode code, std::string& out);

}  // namespace sluice::api
