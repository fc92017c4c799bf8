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
  std::size_t max_bytes = 1U << 20;       ///< Bytes of a whole command on the wire.
};

/// Incremental parser of the commands that Redis clients send: arrays of bulk strings, or inline
/// commands, whose words may be quoted as in redis-cli.
///
/// A command that is complete in the given bytes is not copied; its arguments point into them. Does
/// not allocate in the steady state; memory is bounded by the received bytes. There are no commands
/// after a protocol error.
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

  /// Adds input. The bytes must stay valid until Keep, which must be called before the next Feed.
  void Feed(std::string_view bytes);
  /// Advances to the next command, which has at least one argument. Skips empty commands.
  Status Next();
  /// Copies the unread input. Invalidates arguments().
  void Keep();

  /// The current command, its name first. Valid until any other function is called.
  [[nodiscard]] std::span<const std::string_view> arguments() const { return arguments_; }

  /// An error like Redis': "Protocol error: invalid bulk length". Empty: none.
  [[nodiscard]] const std::string& error() const { return error_; }
  /// True if a command or an argument exceeded its limit.
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }

  /// Memory for buffered input.
  [[nodiscard]] std::size_t held() const {
    return kept_.capacity() + unquoted_.capacity() +
           arguments_.capacity() * sizeof(std::string_view);
  }

  /// Input bytes after the current command.
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
  const char* begin_ = nullptr;  ///< Start of the current command.
  const char* at_ = nullptr;     ///< End of the parsed part.
  const char* end_ = nullptr;    ///< End of the input.
  std::vector<std::string_view> arguments_;
  std::size_t left_ = 0;     ///< Missing arguments; 0: no header was read.
  std::size_t scanned_ = 0;  ///< Bytes after `begin_` without a line end.
  bool complete_ = false;    ///< [`begin_`, `at_`) is a complete command.
  bool is_too_large_ = false;
  bool is_borrowed_ = false;  ///< The input is the caller's, not `kept_`.
  std::string kept_;
  std::string unquoted_;  ///< Unescaped words of an inline command.
  std::string error_;
};

}  // namespace sluice::wire
