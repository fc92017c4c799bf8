#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/time.h>

#include "match/attributes.h"
#include "simulate/trace_time.h"

namespace sluice::simulate {

/// A call of a trace. Attributes point into what the reader holds.
struct TraceRow {
  WallTime time{};
  std::int64_t cost = 1;
  std::optional<Micros> duration;  ///< How long the call took: concurrency limits need it.
  std::vector<Attribute> attributes;
};

enum class RowKind : std::uint8_t {
  kNothing,  ///< An empty line, a header.
  kCall,
  kBad,         ///< `problem` says why. What follows can be read.
  kUnreadable,  ///< `problem` says why nothing can be read.
};

/// The first item of the input.
struct TakenRow {
  std::size_t bytes = 0;  ///< How much it takes up; 0: more input is needed to tell.
  std::size_t lines = 1;
  RowKind kind = RowKind::kNothing;
  std::string problem{};
};

/// A way to write a trace: takes rows off the front of the input, which may be cut anywhere. No
/// I/O.
class RowFormat {
 public:
  virtual ~RowFormat() = default;

  /// `row` is good as long as the input is, and until the next call. If `at_end`, nothing follows
  /// the input, which is not empty, and the answer is never that more is needed.
  virtual TakenRow Take(std::string_view input, bool at_end, TraceRow& row) = 0;
};

/// A longer row is given up.
inline constexpr std::size_t kMaxRowBytes = std::size_t{1} << 20;

/// How much of the front of the input is one line, its end included; 0 if it has no end.
[[nodiscard]] std::size_t LineSize(std::string_view input, bool at_end);
/// A line without its end: "\n" or "\r\n".
[[nodiscard]] std::string_view WithoutEnd(std::string_view line);

/// The meaning of a column or a member of a row.
enum class Field : std::uint8_t { kTime, kCost, kDuration, kAttribute };

/// "time", "cost" and "duration" are special; all other names are those of attributes.
[[nodiscard]] Field FieldOf(std::string_view name);

/// Sets what a row says in a special field. Returns what is wrong with the text, or nothing.
[[nodiscard]] std::string SetField(Field field, std::string_view text, TimeUnit unit,
                                   TraceRow& row);

}  // namespace sluice::simulate
