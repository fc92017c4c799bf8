#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/trace_row.h"

namespace sluice::simulate {

/// A trace as CSV (RFC 4180): the first row names the columns. An empty value is no attribute.
class CsvRows final : public RowFormat {
 public:
  explicit CsvRows(TimeUnit unit) : unit_(unit) {}

  TakenRow Take(std::string_view input, bool at_end, TraceRow& row) override;

 private:
  struct Column {
    std::string name;
    Field field;
  };

  /// Splits the record at the front of the input into `fields_`.
  TakenRow Split(std::string_view input, bool at_end);
  void SplitPlain(std::string_view line);
  TakenRow SplitQuoted(std::string_view input, bool at_end);
  TakenRow ReadHeader(TakenRow taken);

  TimeUnit unit_;
  std::vector<Column> columns_;  ///< Empty: the header was not read yet.
  std::vector<std::string_view> fields_;
  std::string unquoted_;  ///< Text of those `fields_` that held doubled quotes.
};

}  // namespace sluice::simulate
