#include "json_rows.h"

#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <optional>
#include <utility>

#include <simdjson.h>

namespace sluice::app {
namespace {

namespace dom = simdjson::dom;

static_assert(kInputPadding >= simdjson::SIMDJSON_PADDING);

}  // namespace

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
    dom::object object;
    // The padding is there: it need not be copied.
    const auto error = parser_.parse(line.data(), line.size(), false).get(object);
    if (error) return std::string("not a JSON object: ") + simdjson::error_message(error);
    std::string problem = ReadObject(object, Depth::kRow, row);
    if (!problem.empty()) return problem;
    return has_time_ ? std::string() : "has no `time`";
  }

 private:
  enum class Depth : std::uint8_t { kRow, kAttributes };

  std::string ReadObject(dom::object object, Depth depth, TraceRow& row) {
    for (const auto& [name, value] : object) {
      std::string problem;
      if (depth == Depth::kRow && name == "attributes") {
        dom::object attributes;
        if (value.get(attributes)) return "attributes: expected an object";
        problem = ReadObject(attributes, Depth::kAttributes, row);
      } else {
        const Field field = depth == Depth::kRow ? FieldOf(name) : Field::kAttribute;
        problem = ReadMember(name, field, value, row);
      }
      if (!problem.empty()) return problem;
    }
    return {};
  }

  std::string ReadMember(std::string_view name, Field field, dom::element value, TraceRow& row) {
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
  std::optional<std::string_view> TextOf(dom::element value) {
    switch (value.type()) {
      case dom::element_type::STRING:
        return value.get_string().value_unsafe();
      case dom::element_type::BOOL:
        return value.get_bool().value_unsafe() ? "true" : "false";
      case dom::element_type::INT64:
        return Digits(value.get_int64().value_unsafe());
      case dom::element_type::UINT64:
        return Digits(value.get_uint64().value_unsafe());
      case dom::element_type::DOUBLE: {
        const double number = value.get_double().value_unsafe();
        const double size = std::abs(number);
        // With an exponent only where there would be many zeros.
        const bool plain = number == 0 || (size >= 1e-6 && size < 1e15);
        return Digits(number, plain ? std::chars_format::fixed : std::chars_format::scientific);
      }
      default:
        return std::nullopt;
    }
  }

  template <typename... Number>
  std::string_view Digits(Number... number) {
    std::array<char, 48>& digits = numbers_.emplace_back();
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number...).ptr;
    return {digits.data(), end};
  }

  TimeUnit unit_;
  dom::parser parser_;
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

}  // namespace sluice::app
