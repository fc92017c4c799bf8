#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resp/value.h"

namespace sluice::resp {

/// Limits of one reply. Exceeding them is a protocol error.
struct DecoderLimits {
  std::size_t max_bytes = 128U << 20;   ///< The whole reply, as it is on the wire.
  std::size_t max_text = 64U << 20;     ///< One bulk string; never more than 4 GiB.
  std::size_t max_line = 64U << 10;     ///< A simple string, an error, a number.
  std::size_t max_elements = 1U << 20;  ///< All values of a reply together.
  std::size_t max_depth = 32;           ///< Aggregates inside aggregates.
};

/// Makes replies (or commands: arrays of bulk strings) of bytes that arrive in any pieces. Knows
/// RESP2 and RESP3; attributes are skipped, streamed strings and aggregates are refused.
///
/// In the steady state nothing is allocated: a reply's nodes and bytes lie in buffers that are used
/// again. Memory is only taken for bytes that have arrived, whatever their headers announce.
///
///     decoder.Feed(bytes);
///     while (decoder.Next() == Decoder::Status::kReply) Handle(decoder.reply());
///     if (decoder.failed()) Drop(decoder.error());
class Decoder {
 public:
  enum class Status : std::uint8_t { kReply, kNeedMore, kError };

  explicit Decoder(const DecoderLimits& limits = {});

  /// Adds bytes at the end. `reply()` is gone.
  void Feed(std::string_view bytes);
  /// The same without a copy: room for at least so many bytes, of which Commit takes the first.
  std::span<char> Prepare(std::size_t at_least);
  void Commit(std::size_t written) { end_ += written; }

  /// Goes on to the next reply. After kError there are no more.
  Status Next();

  /// The reply that Next announced; good until anything else is called.
  [[nodiscard]] Value reply() const { return {nodes_.data(), buffer_.get() + begin_}; }
  /// The same as its bytes.
  [[nodiscard]] std::string_view raw() const { return {buffer_.get() + begin_, at_}; }

  [[nodiscard]] bool failed() const { return !error_.empty(); }
  /// One line: what was found and what would be right.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Bytes that are not part of a reply that Next has announced.
  [[nodiscard]] std::size_t pending() const { return end_ - begin_ - (complete_ ? at_ : 0); }

 private:
  /// An aggregate whose elements are still to come.
  struct Frame {
    std::size_t node;
    std::size_t left;
    bool is_attribute;
  };
  enum class Step : std::uint8_t { kElement, kOpened, kNeedMore, kError };

  void DiscardReply();
  Step ParseElement();
  Step ParseText(Type type, std::string_view line, std::size_t line_end);
  Step ParseLineValue(char type, std::string_view line, std::size_t line_end);
  Step OpenAggregate(char type, std::string_view line, std::size_t line_end);
  bool CloseAggregates();
  std::optional<std::size_t> FindLine(std::string_view& line);
  std::optional<std::size_t> Length(std::string_view line);
  void AddText(Type type, std::size_t from, std::size_t size);
  Step Fail(std::string message);

  DecoderLimits limits_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;  ///< Where the current reply begins.
  std::size_t end_ = 0;    ///< Where what has arrived ends.

  // Counted from begin_, so that the bytes can be moved.
  std::size_t at_ = 0;       ///< How far the reply is understood.
  std::size_t scanned_ = 0;  ///< No line ends before.
  std::size_t wanted_ = 0;   ///< Without so many bytes there is no point in trying.

  bool complete_ = false;
  std::size_t elements_ = 0;
  std::vector<Node> nodes_;
  std::vector<Frame> frames_;
  std::string error_;
};

}  // namespace sluice::resp
