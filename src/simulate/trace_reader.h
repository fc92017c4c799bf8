#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "simulate/trace_row.h"

namespace sluice::simulate {

/// Reads a trace piece by piece: however long it is, it takes a few megabytes. JSON lines if it
/// begins with '{', else CSV.
class TraceReader {
 public:
  /// Fills the front of what it is given and returns how much; 0 at the end.
  using Source = std::function<std::size_t(std::span<char>)>;

  explicit TraceReader(Source source, TimeUnit unit = TimeUnit::kByMagnitude);

  enum class Item : std::uint8_t {
    kCall,        ///< `row`.
    kBadRow,      ///< `problem`; the rows after it can be read.
    kUnreadable,  ///< `problem`; there is nothing else to read.
    kEnd,
  };
  /// Goes on to the next row.
  Item Next();

  /// Good until the next Next.
  [[nodiscard]] const TraceRow& row() const { return row_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Where the row begins; the first line is 1.
  [[nodiscard]] std::size_t line() const { return line_; }
  /// How much of the source was read so far.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  bool Fill();
  [[nodiscard]] std::string_view Input() const { return {buffer_.data() + begin_, end_ - begin_}; }
  void ChooseFormat();

  Source source_;
  TimeUnit unit_;
  std::unique_ptr<RowFormat> format_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
  TraceRow row_;
  std::string problem_;
  std::size_t line_ = 0;
  std::size_t next_line_ = 1;
  std::uint64_t bytes_ = 0;
};

}  // namespace sluice::simulate
