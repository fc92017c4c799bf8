#include "simulate/json_rows.h"

#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include "base/json_reader.h"
#include "base/parse_number.h"

namespace sluice::simulate {
class JsonRows::Parser {
 public:
  explicit Parser(TimeUnit unit) : unit_(unit) {}

  // Returns what is wrong with the line, or nothing.
  std::string Read(std::string_view line, TraceRow& row) {
    row.cost = 1;
    row.duration.reset();
    row.attributes.clear();
    numbers_.clear();
    has_time_ = false;
    const auto value = document_.Parse(line);
    if (!value) return "not a JSON object: " + std::string(document_.error());
    if (!value->is_object()) return "not a JSON object";
    std::string problem = ReadObject(*value, Depth::kRow, row);
    if (!problem.empty()) return problem;
    return has_time_ ? std::string() : "has no `time`";
  }

 private:
  enum class Depth : std::uint8_t { kRow, kAttributes };

  std::string ReadObject(const JsonValue& object, Depth depth, TraceRow& row) {
    for (const JsonValue value : object) {
      const std::string_view name = value.name();
      std::string problem;
      if (depth == Depth::kRow && name == "attributes") {
        if (!value.is_object()) return "attributes: expected an object";
        problem = ReadObject(value, Depth::kAttributes, row);
      } else {
        const Field field = depth == Depth::kRow ? FieldOf(name) : Field::kAttribute;
        problem = ReadMember(name, field, value, row);
      }
      if (!problem.empty()) return problem;
    }
    return {};
  }

  std::string ReadMember(std::string_view name, Field field, const JsonValue& value,
                         TraceRow& row) {
    if (value.is_array() || value.is_object()) {
      return std::string(name) + ": expected one value, found a list or an object";
    }
    const std::optional<std::string_view> text = TextOf(value);
    if (!text) return {};
    if (field == Field::kAttribute) {
      if (!text->empty()) row.attributes.push_back({name, *text});
      return {};
    }
    has_time_ = has_time_ || field == Field::kTime;
    return SetField(field, *text, unit_, row);
  }

  // Nothing for null.
  std::optional<std::string_view> TextOf(const JsonValue& value) {
    if (const auto text = value.String()) return text;
    if (const auto truth = value.Bool()) return *truth ? "true" : "false";
    if (!value.Number()) return std::nullopt;
    if (const auto whole = ParseNumber<std::int64_t>(value.raw())) return Digits(*whole);
    if (const auto whole = ParseNumber<std::uint64_t>(value.raw())) return Digits(*whole);
    const auto number = ParseNumber<double>(value.raw());
    if (!number) return value.raw();
    const double size = std::abs(*number);
    // With an exponent only where there would be many zeros.
    const bool plain = *number == 0 || (size >= 1e-6 && size < 1e15);
    return Digits(*number, plain ? std::chars_format::fixed : std::chars_format::scientific);
  }

  template <typename... Number>
  std::string_view Digits(Number... number) {
    std::array<char, 48>& digits = numbers_.emplace_back();
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number...).ptr;
    return {digits.data(), end};
  }

  TimeUnit unit_;
  JsonDocument document_;
  std::deque<std::array<char, 48>> numbers_;  ///< Of the row, as text.
  bool has_time_ = false;
};

JsonRows::JsonRows(TimeUnit unit) : parser_(std::make_unique<Parser>(unit)) {}
JsonRows::~JsonRows() = default;

TakenRow JsonRows::Take(std::string_view input, bool at_end, TraceRow& row) {
  const std::size_t size = LineSize(input, at_end);
  if (size == 0) return {};
  const std::string_view line = WithoutEnd(input.substr(0, size));
  if (line.find_first_not_of(" \t") == std::string_view::npos) return {.bytes = size};
  std::string problem = parser_->Read(line, row);
  const RowKind kind = problem.empty() ? RowKind::kCall : RowKind::kBad;
  return {.bytes = size, .kind = kind, .problem = std::move(problem)};
}

}  // namespace sluice::simulate
