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
  std::size_t max_bytes = 128U << 20;   ///< The whole reply on the wire.
  std::size_t max_text = 64U << 20;     ///< One bulk string; never more than 4 GiB.
  std::size_t max_line = 64U << 10;     ///< A simple string, an error, a number.
  std::size_t max_elements = 1U << 20;  ///< All values of a reply in total.
  std::size_t max_depth = 32;           ///< Nesting of aggregates.
};

/// Incremental decoder of replies (or commands: arrays of bulk strings) in RESP2 and RESP3.
/// Attributes are skipped; streamed strings and aggregates are errors.
///
/// Does not allocate in the steady state: nodes and bytes of a reply are in reused buffers. Memory
/// is bounded by the received bytes, whatever their headers announce.
///
///     decoder.Feed(bytes);
///     while (decoder.Next() == Decoder::Status::kReply) Handle(decoder.reply());
///     if (decoder.failed()) Drop(decoder.error());
class Decoder {
 public:
  enum class Status : std::uint8_t { kReply, kNeedMore, kError };

  explicit Decoder(const DecoderLimits& limits = {});

  /// Adds input. Invalidates reply().
  void Feed(std::string_view bytes);
  /// Adds input without a copy: returns a buffer of at least this size; Commit adds its first
  /// bytes.
  std::span<char> Prepare(std::size_t at_least);
  void Commit(std::size_t written) { end_ += written; }

  /// Advances to the next reply. kError is final.
  Status Next();

  /// The current reply; valid until any other function is called.
  [[nodiscard]] Value reply() const { return {nodes_.data(), buffer_.get() + begin_}; }
  /// The bytes of the current reply.
  [[nodiscard]] std::string_view raw() const { return {buffer_.get() + begin_, at_}; }

  [[nodiscard]] bool failed() const { return !error_.empty(); }
  /// One line with the found and the expected input.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Input bytes after the current reply.
  [[nodiscard]] std::size_t pending() const { return end_ - begin_ - (complete_ ? at_ : 0); }

 private:
  /// An incomplete aggregate.
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
  std::size_t begin_ = 0;  ///< Start of the current reply.
  std::size_t end_ = 0;    ///< End of the input.

  // Offsets from begin_, so that the bytes can be moved.
  std::size_t at_ = 0;       ///< End of the parsed part.
  std::size_t scanned_ = 0;  ///< No line end before this.
  std::size_t wanted_ = 0;   ///< Minimum size of input for the next step.

  bool complete_ = false;
  std::size_t elements_ = 0;
  std::vector<Node> nodes_;
  std::vector<Frame> frames_;
  std::string error_;
};

}  // namespace sluice::resp
