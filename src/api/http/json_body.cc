#include "api/http/json_body.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <sluice/limit.h>

#include "base/decimal.h"
#include "base/json_writer.h"
#include "base/parse_number.h"

namespace sluice::api {
namespace {

// As much of a value as a problem repeats.
std::string Shown(const JsonValue& value) {
  constexpr std::size_t kMost = 80;
  return std::string(value.raw().substr(0, kMost));
}

}  // namespace

std::string JsonFields::PathOf(std::string_view name) const {
  if (path_.empty()) return std::string(name);
  if (name.empty()) return path_;
  return path_ + "." + std::string(name);
}

bool JsonFields::Fail(ProblemCode code, std::string_view name, std::string_view detail) {
  if (!failed()) *problem_ = {.code = code, .field = PathOf(name), .detail = std::string(detail)};
  failed_ = true;
  return false;
}

bool JsonFields::Missing(std::string_view name) {
  return Fail(ProblemCode::kMissingField, name, "is missing");
}

bool JsonFields::Only(std::initializer_list<std::string_view> names) {
  std::size_t at = 0;
  for (const JsonValue field : object_) {
    if (std::find(names.begin(), names.end(), field.name()) == names.end()) {
      std::string known;
      for (const std::string_view name : names) {
        known.append(known.empty() ? "" : ", ").append(name);
      }
      return Fail(ProblemCode::kUnknownField, field.name(), "unknown field; known are " + known);
    }
    std::size_t before = 0;
    for (const JsonValue other : object_) {
      if (before++ == at) break;
      if (other.name() == field.name()) {
        return Fail(ProblemCode::kDuplicateField, field.name(), "is there twice");
      }
    }
    ++at;
  }
  return true;
}

bool JsonFields::Has(std::string_view name) const { return object_.Find(name).has_value(); }

std::optional<std::string_view> JsonFields::Text(std::string_view name) {
  const auto value = object_.Find(name);
  if (!value || failed()) return std::nullopt;
  if (const auto text = value->String()) return text;
  Fail(ProblemCode::kInvalidField, name, "must be a text");
  return std::nullopt;
}

std::optional<bool> JsonFields::Bool(std::string_view name) {
  const auto value = object_.Find(name);
  if (!value || failed()) return std::nullopt;
  if (const auto truth = value->Bool()) return truth;
  Fail(ProblemCode::kInvalidField, name, "must be true or false");
  return std::nullopt;
}

std::optional<std::int64_t> JsonFields::Whole(std::string_view name, std::int64_t least,
                                              std::int64_t most, ProblemCode code) {
  const auto value = object_.Find(name);
  if (!value || failed()) return std::nullopt;
  const std::optional<std::int64_t> whole = value->Whole();
  if (whole && *whole >= least && *whole <= most) return whole;
  Fail(code, name,
       "must be a whole number between " + std::to_string(least) + " and " + std::to_string(most) +
           ", found " + Shown(*value));
  return std::nullopt;
}

std::optional<Decimal> JsonFields::Number(std::string_view name) {
  const auto value = object_.Find(name);
  if (!value || failed()) return std::nullopt;
  if (const auto number = value->Number()) {
    if (const auto decimal = ParseDecimal(*number)) return decimal;
    // Too many digits: the shortest ones that mean the same double.
    std::array<char, 32> digits;
    const double nearest = ParseNumber<double>(*number).value_or(0);
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), nearest).ptr;
    if (const auto decimal = ParseDecimal({digits.data(), end})) return decimal;
  }
  Fail(ProblemCode::kInvalidField, name, "must be a number");
  return std::nullopt;
}

std::optional<Micros> JsonFields::Seconds(std::string_view name) {
  const auto number = Number(name);
  if (!number) return std::nullopt;
  // A second has six digits of microseconds; more can't be held.
  constexpr int kDigits = 6;
  std::int64_t micros = number->digits;
  bool fits = number->digits > 0 && number->scale <= kDigits;
  for (int scale = number->scale; fits && scale < kDigits; ++scale) {
    fits = micros <= kMaxWindow.count() / 10;
    micros *= 10;
  }
  if (fits && Micros{micros} <= kMaxWindow) return Micros{micros};
  Fail(ProblemCode::kInvalidField, name,
       "must be seconds above 0 and at most 100 years, in steps of a microsecond");
  return std::nullopt;
}

std::optional<JsonFields> JsonFields::Object(std::string_view name) {
  const auto value = object_.Find(name);
  if (!value || failed()) return std::nullopt;
  if (value->is_object()) return JsonFields(*value, PathOf(name), *problem_);
  Fail(ProblemCode::kInvalidField, name, "must be an object");
  return std::nullopt;
}

std::optional<JsonValue> JsonFields::Array(std::string_view name) {
  const auto value = object_.Find(name);
  if (!value || failed()) return std::nullopt;
  if (value->is_array()) return value;
  Fail(ProblemCode::kInvalidField, name, "must be an array");
  return std::nullopt;
}

std::optional<JsonFields> JsonBody::Read(std::string_view text, Problem& problem) {
  problem = {};
  const auto value = document_.Parse(text);
  if (!value) {
    problem = {.code = ProblemCode::kInvalidBody,
               .detail = "the body is no JSON: " + std::string(document_.error()) + " at byte " +
                         std::to_string(document_.error_at())};
    return std::nullopt;
  }
  if (!value->is_object()) {
    problem = {.code = ProblemCode::kInvalidBody, .detail = "the body must be a JSON object"};
    return std::nullopt;
  }
  return JsonFields(*value, "", problem);
}

}  // namespace sluice::api
