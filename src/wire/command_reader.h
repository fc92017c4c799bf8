#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::wire {

/// Limits of one command. Exceeding them is a protocol error.
struct CommandLimits {
  std::size_t max_arguments = 16U << 10;
  std::size_t max_argument = 512U << 10;  ///< Bytes of one argument.
  std::size_t max_inline = 64U << 10;     ///< Bytes of an inline command's line.
  std::size_t max_bytes = 1U << 20;       ///< A whole command as it is on the wire.
};

/// Makes commands of the bytes that a Redis client sends, in any pieces: arrays of bulk strings, or
/// lines with words ("inline commands"), which may be quoted as in redis-cli.
///
/// A command that lies whole in the bytes given is not copied; its arguments point into them. In
/// the steady state nothing is allocated, and memory is only taken for bytes that have arrived.
/// After a protocol error there are no more commands.
///
///     reader.Feed(bytes);
///     while (reader.Next() == CommandReader::Status::kCommand) Run(reader.arguments());
///     reader.Keep();  // Before `bytes` go away.
class CommandReader {
 public:
  enum class Status : std::uint8_t { kCommand, kNeedMore, kError };

  explicit CommandReader(const CommandLimits& limits = {}) : limits_(limits) {}
  CommandReader(const CommandReader&) = delete;
  CommandReader& operator=(const CommandReader&) = delete;

  /// Adds bytes at the end. They must stay until Keep, and Keep must come before the next Feed.
  void Feed(std::string_view bytes);
  /// Goes on to the next command, which has at least one argument. Empty ones are skipped.
  Status Next();
  /// Copies the unread rest. `arguments()` are gone.
  void Keep();

  /// Of the command that Next announced: its name first. Good until anything else is called.
  [[nodiscard]] std::span<const std::string_view> arguments() const { return arguments_; }

  /// In Redis' words: "Protocol error: invalid bulk length". Empty: none.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// Whether the error is a command or an argument beyond its limit.
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }

  /// Memory for what has arrived.
  [[nodiscard]] std::size_t held() const {
    return kept_.capacity() + unquoted_.capacity() +
           arguments_.capacity() * sizeof(std::string_view);
  }

  /// Bytes that are not part of a command that Next has announced.
  [[nodiscard]] std::size_t unread() const {
    return static_cast<std::size_t>(end_ - (complete_ ? at_ : begin_));
  }

 private:
  enum class Line : std::uint8_t { kWhole, kPart, kWrong };

  Line ReadLength(std::int64_t& length, const char*& next) const;
  Line ReadShortLength(std::int64_t& length, const char*& next) const;
  Status ReadHeader();
  Status ReadArguments();
  Status ReadInline();
  bool SplitLine(std::string_view line);
  Status Fail(std::string_view what);
  void Discard();
  void MoveTo(const char* place);

  CommandLimits limits_;
  const char* begin_ = nullptr;  ///< Where the current command begins.
  const char* at_ = nullptr;     ///< How far it is understood.
  const char* end_ = nullptr;    ///< Where what has arrived ends.
  std::vector<std::string_view> arguments_;
  std::size_t left_ = 0;     ///< Arguments that are still to come; 0: no header was read.
  std::size_t scanned_ = 0;  ///< No line of an inline command ends so far after `begin_`.
  bool complete_ = false;    ///< Next has announced what lies between `begin_` and `at_`.
  bool is_too_large_ = false;
  bool is_borrowed_ = false;  ///< The bytes are the caller's, not `kept_`.
  std::string kept_;
  std::string unquoted_;  ///< The words of an inline command that were not written plainly.
  std::string error_;
};

}  // namespace sluice::wire
