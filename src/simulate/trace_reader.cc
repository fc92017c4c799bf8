#include "simulate/trace_reader.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "simulate/csv_rows.h"
#include "simulate/json_rows.h"

namespace sluice::simulate {
namespace {

constexpr std::size_t kBufferBytes = 2 * kMaxRowBytes;

}  // namespace

TraceReader::TraceReader(Source source, TimeUnit unit)
    : source_(std::move(source)), unit_(unit), buffer_(kBufferBytes) {}

// Reads more, behind what is left. False if there is no more, or no room for it.
bool TraceReader::Fill() {
  if (at_end_) return false;
  std::move(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  if (end_ == kBufferBytes) return false;
  const std::size_t size = source_(std::span(buffer_).subspan(end_, kBufferBytes - end_));
  end_ += size;
  bytes_ += size;
  at_end_ = size == 0;
  return true;
}

void TraceReader::ChooseFormat() {
  constexpr std::string_view kBlank = " \t\r\n";
  while (Input().find_first_not_of(kBlank) == std::string_view::npos && Fill()) {
  }
  const std::size_t first = Input().find_first_not_of(kBlank);
  if (first != std::string_view::npos && Input()[first] == '{') {
    format_ = std::make_unique<JsonRows>(unit_);
  } else {
    format_ = std::make_unique<CsvRows>(unit_);
  }
}

TraceReader::Item TraceReader::Next() {
  if (!format_) ChooseFormat();
  while (true) {
    TakenRow taken;
    if (begin_ < end_) taken = format_->Take(Input(), at_end_, row_);
    if (taken.bytes == 0) {
      if (Fill()) continue;
      line_ = next_line_;
      if (at_end_) return Item::kEnd;
      problem_ = "the line is longer than " + std::to_string(kMaxRowBytes) + " bytes";
      at_end_ = true;
      begin_ = end_;
      return Item::kUnreadable;
    }
    begin_ += taken.bytes;
    line_ = next_line_;
    next_line_ += taken.lines;
    switch (taken.kind) {
      case RowKind::kNothing:
        continue;
      case RowKind::kCall:
        return Item::kCall;
      case RowKind::kBad:
        problem_ = std::move(taken.problem);
        return Item::kBadRow;
      case RowKind::kUnreadable:
        problem_ = std::move(taken.problem);
        at_end_ = true;
        begin_ = end_;
        return Item::kUnreadable;
    }
  }
}

}  // namespace sluice::simulate
