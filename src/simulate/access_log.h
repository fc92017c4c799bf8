#pragma once

#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "simulate/trace_row.h"

namespace sluice::simulate {

/// Reads lines of access logs as calls with the attributes `ip`, `user`, `method`, `host` and
/// `endpoint` (the path without its query), as far as a line has them:
///
/// - the common and combined formats of nginx and Apache,
/// - JSON objects with nginx's names of variables, or usual others (see access_log.cc).
///
/// For one thread at a time.
class AccessLogParser {
 public:
  /// Reads a line without its end. Returns a problem, or nothing. Attributes point into the line
  /// and the parser: good until the next line.
  [[nodiscard]] std::string Read(std::string_view line, TraceRow& row);

 private:
  std::string ReadText(std::string_view line, TraceRow& row);
  std::string ReadJson(std::string_view line, TraceRow& row);

  JsonDocument document_;
};

/// The header of a trace as CSV, and the calls of a log as its rows.
[[nodiscard]] std::string_view LogTraceHeader();
void AppendLogTraceRow(const TraceRow& row, std::string& out);

}  // namespace sluice::simulate
