#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace sluice::resp {

enum class Protocol : std::uint8_t { kResp2 = 2, kResp3 = 3 };

// All functions append to `out` and allocate only if it must grow.

/// A whole command:
///
///     AppendCommand(out, {"SET", "greeting", "hello"});
void AppendCommand(std::string& out, std::span<const std::string_view> arguments);
void AppendCommand(std::string& out, std::initializer_list<std::string_view> arguments);

/// A command in pieces: a header with the number of arguments, then that many bulk strings.
void AppendArrayHeader(std::string& out, std::size_t elements);
void AppendBulk(std::string& out, std::string_view text);
/// A number as a bulk string: commands have no integers.
void AppendBulkInteger(std::string& out, std::int64_t number);

// Replies. Line breaks in simple strings and errors become spaces, against reply injection.
void AppendSimpleString(std::string& out, std::string_view text);
/// `text` begins with a code word: "ERR wrong number of arguments".
void AppendError(std::string& out, std::string_view text);
void AppendInteger(std::string& out, std::int64_t number);
void AppendNull(std::string& out, Protocol protocol);

/// Writes an integer at `at`, at most kMaxIntegerBytes, and returns its end: for replies that are
/// made in a buffer and appended as a whole.
inline constexpr std::size_t kMaxIntegerBytes = 23;
char* WriteInteger(char* at, std::int64_t number);

// Types that RESP2 lacks are encoded like in Redis: booleans as 0 and 1, doubles as bulk strings,
// maps as arrays of alternating keys and values.
void AppendMapHeader(std::string& out, std::size_t pairs, Protocol protocol);
void AppendBoolean(std::string& out, bool value, Protocol protocol);
void AppendDouble(std::string& out, double number, Protocol protocol);

}  // namespace sluice::resp
