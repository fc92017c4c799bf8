#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "api/http/problem_response.h"
#include "base/decimal.h"
#include "base/json_reader.h"

namespace sluice::api {

/// One object of a request's body. Unknown and repeated names are errors; so is every value of
/// another type than the one that is read. The first error is kept in the `problem` that all
/// objects of a body share; reading on after it returns nothing.
class JsonFields {
 public:
  JsonFields(JsonValue object, std::string path, Problem& problem)
      : object_(object), path_(std::move(path)), problem_(&problem) {}

  /// False, and a problem, if there is another name than these.
  bool Only(std::initializer_list<std::string_view> names);

  [[nodiscard]] bool Has(std::string_view name) const;

  // Nothing if the field is not there, or wrong: then there is a problem, too.
  std::optional<std::string_view> Text(std::string_view name);
  std::optional<bool> Bool(std::string_view name);
  std::optional<std::int64_t> Whole(std::string_view name, std::int64_t least, std::int64_t most,
                                    ProblemCode code = ProblemCode::kInvalidField);
  /// A number with its fraction, exactly as it was written.
  std::optional<Decimal> Number(std::string_view name);
  /// Seconds; may have a fraction.
  std::optional<Micros> Seconds(std::string_view name);
  std::optional<JsonFields> Object(std::string_view name);
  std::optional<JsonValue> Array(std::string_view name);

  /// "checks[3].cost"
  [[nodiscard]] std::string PathOf(std::string_view name) const;
  bool Fail(ProblemCode code, std::string_view name, std::string_view detail);
  bool Missing(std::string_view name);
  bool failed() const { return failed_ || !problem_->detail.empty(); }

  [[nodiscard]] const JsonValue& object() const { return object_; }
  [[nodiscard]] Problem& problem() const { return *problem_; }

 private:
  JsonValue object_;
  std::string path_;  ///< Empty: the body itself. Else "checks[3]".
  Problem* problem_;
  bool failed_ = false;
};

/// Reads the bodies of requests, one at a time: what a body points to is good until the next.
class JsonBody {
 public:
  /// Nothing, and a problem, if the text is no JSON object.
  std::optional<JsonFields> Read(std::string_view text, Problem& problem);

 private:
  JsonDocument document_;
};

}  // namespace sluice::api
