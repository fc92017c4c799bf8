#include "api/json_body.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/json_writer.h"

namespace sluice::api {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

// 2^53: up to here every whole number is one that a double can hold.
constexpr double kMaxExact = 9007199254740992.0;

std::optional<std::int64_t> WholeOf(const element& value) {
  std::int64_t whole = 0;
  if (value.get(whole) == simdjson::SUCCESS) return whole;
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS) return std::nullopt;
  if (std::floor(number) != number || std::fabs(number) > kMaxExact) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

// As much of a value as a problem repeats.
std::string Shown(const element& value) {
  constexpr std::size_t kMost = 80;
  std::string text = simdjson::minify(value);
  if (text.size() > kMost) text.resize(kMost);
  return text;
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
  for (const auto& field : object_) {
    if (std::find(names.begin(), names.end(), field.key) == names.end()) {
      std::string known;
      for (const std::string_view name : names) {
        known.append(known.empty() ? "" : ", ").append(name);
      }
      return Fail(ProblemCode::kUnknownField, field.key, "unknown field; known are " + known);
    }
    std::size_t before = 0;
    for (const auto& other : object_) {
      if (before++ == at) break;
      if (other.key == field.key) {
        return Fail(ProblemCode::kDuplicateField, field.key, "is there twice");
      }
    }
    ++at;
  }
  return true;
}

std::optional<element> JsonFields::Find(std::string_view name) const {
  element found;
  if (object_.at_key(name).get(found) != simdjson::SUCCESS) return std::nullopt;
  return found;
}

bool JsonFields::Has(std::string_view name) const { return Find(name).has_value(); }

std::optional<std::string_view> JsonFields::Text(std::string_view name) {
  const auto value = Find(name);
  if (!value || failed()) return std::nullopt;
  std::string_view text;
  if (value->get(text) == simdjson::SUCCESS) return text;
  Fail(ProblemCode::kInvalidField, name, "must be a text");
  return std::nullopt;
}

std::optional<bool> JsonFields::Bool(std::string_view name) {
  const auto value = Find(name);
  if (!value || failed()) return std::nullopt;
  bool truth = false;
  if (value->get(truth) == simdjson::SUCCESS) return truth;
  Fail(ProblemCode::kInvalidField, name, "must be true or false");
  return std::nullopt;
}

std::optional<std::int64_t> JsonFields::Whole(std::string_view name, std::int64_t least,
                                              std::int64_t most, ProblemCode code) {
  const auto value = Find(name);
  if (!value || failed()) return std::nullopt;
  const std::optional<std::int64_t> whole = WholeOf(*value);
  if (whole && *whole >= least && *whole <= most) return whole;
  Fail(code, name,
       "must be a whole number between " + std::to_string(least) + " and " + std::to_string(most) +
           ", found " + Shown(*value));
  return std::nullopt;
}

std::optional<rules::Decimal> JsonFields::Number(std::string_view name) {
  const auto value = Find(name);
  if (!value || failed()) return std::nullopt;
  if (const auto whole = WholeOf(*value)) return rules::Decimal{.digits = *whole, .scale = 0};
  double number = 0;
  if (value->get(number) == simdjson::SUCCESS) {
    // The shortest digits that mean this number are those that were written, if there were not too
    // many.
    std::array<char, 32> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    if (auto decimal = rules::ParseDecimal({digits.data(), end})) return decimal;
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
  const auto value = Find(name);
  if (!value || failed()) return std::nullopt;
  simdjson::dom::object object;
  if (value->get(object) == simdjson::SUCCESS) return JsonFields(object, PathOf(name), *problem_);
  Fail(ProblemCode::kInvalidField, name, "must be an object");
  return std::nullopt;
}

std::optional<simdjson::dom::array> JsonFields::Array(std::string_view name) {
  const auto value = Find(name);
  if (!value || failed()) return std::nullopt;
  simdjson::dom::array array;
  if (value->get(array) == simdjson::SUCCESS) return array;
  Fail(ProblemCode::kInvalidField, name, "must be an array");
  return std::nullopt;
}

std::optional<JsonFields> JsonBody::Read(std::string_view text, Problem& problem) {
  problem = {};
  element root;
  simdjson::dom::object object;
  const simdjson::error_code error =
      text.empty() ? simdjson::EMPTY : parser_.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    problem = {.code = ProblemCode::kInvalidBody,
               .detail = std::string("the body is no JSON: ") + simdjson::error_message(error)};
    return std::nullopt;
  }
  if (root.get(object) != simdjson::SUCCESS) {
    problem = {.code = ProblemCode::kInvalidBody, .detail = "the body must be a JSON object"};
    return std::nullopt;
  }
  return JsonFields(object, "", problem);
}

}  // namespace sluice::api
