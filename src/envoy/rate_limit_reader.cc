#include "envoy/rate_limit_reader.h"

#include <array>
#include <limits>
#include <utility>

#include "algo/algorithm_info.h"
#include "base/duration.h"
#include "config_text/mapping.h"
#include "config_text/suggestion.h"
#include "envoy/fields.h"

namespace sluice::envoy {
namespace {

using config_text::Field;
using config_text::YamlKind;

constexpr std::array<std::pair<std::string_view, Unit>, 7> kUnits = {{
    {"second", Unit::kSecond},
    {"minute", Unit::kMinute},
    {"hour", Unit::kHour},
    {"day", Unit::kDay},
    {"week", Unit::kWeek},
    {"month", Unit::kMonth},
    {"year", Unit::kYear},
}};

Limit NeverAsked() { return *Limit::Concurrency({.limit = 1}); }

class RateLimitReader {
 public:
  RateLimitReader(config_text::Reading& reading, const Field& field, Algorithm algorithm)
      : reading_(reading),
        field_(field),
        mapping_(reading, field, RateLimitFields()),
        algorithm_(algorithm) {}

  std::optional<RateLimit> Read() {
    if (!mapping_.ok()) return std::nullopt;
    const std::size_t before = reading_.errors();
    WarnOfMisplaced(mapping_);
    if (const Field name = mapping_["name"]) made_.name = TextOf(name);
    ReadReplaces();
    if (const Field unlimited = mapping_["unlimited"]) {
      made_.unlimited = reading_.Flag(unlimited).value_or(false);
    }
    if (const Field algorithm = mapping_["algorithm"]) {
      algorithm_ = ReadAlgorithm(reading_, algorithm).value_or(algorithm_);
    }
    ReadRequests();
    if (made_.unlimited) {
      RefuseNumbers();
    } else {
      ReadWindow();
      if (reading_.errors() == before) MakeLimit();
    }
    if (reading_.errors() != before) return std::nullopt;
    return std::move(made_);
  }

 private:
  std::string TextOf(const Field& field) {
    if (field->kind == YamlKind::kNull ||
        (field->kind == YamlKind::kScalar && field->text.empty())) {
      return {};
    }
    return std::string(reading_.Text(field, "a name").value_or(""));
  }

  void ReadReplaces() {
    const Field field = mapping_["replaces"];
    if (!field || field->kind == YamlKind::kNull) return;
    if (field->kind != YamlKind::kSequence) {
      reading_.AddError(
          field, "expected a list of names, as `- name: other`, found " + Found(*field.node));
      return;
    }
    for (const Field& item : reading_.Items(field)) {
      const config_text::Mapping mapping(reading_, item, ReplacesFields());
      if (!mapping.ok()) continue;
      WarnOfMisplaced(mapping);
      const Field name = mapping["name"];
      std::string text = name ? TextOf(name) : std::string();
      if (text.empty()) {
        reading_.AddError(item, "needs the `name` of a limit");
      } else if (text == made_.name) {
        reading_.AddError(
            name, "a limit can't replace itself: " + config_text::Shown(text) + " is its own name");
      } else {
        made_.replaces.push_back(std::move(text));
      }
    }
  }

  void ReadRequests() {
    const Field field = mapping_["requests_per_unit"];
    if (!field || field->kind == YamlKind::kNull) {
      if (!made_.unlimited) {
        reading_.AddWarning(
            field_, "has no `requests_per_unit`, which is as good as 0: every call is denied");
      }
      return;
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::uint32_t>::max();
    made_.requests_per_unit =
        static_cast<std::uint32_t>(reading_.Whole(field, 0, kMost).value_or(0));
  }

  void RefuseNumbers() {
    for (const std::string_view name :
         {"unit", "unit_multiplier", "window", "algorithm", "burst"}) {
      if (const Field field = mapping_[name]) {
        reading_.AddNameError(field, "is of no use beside `unlimited: true`; leave it out");
      }
    }
    made_.limit = NeverAsked();
  }

  void ReadWindow() {
    const Field unit = mapping_["unit"];
    const Field window = mapping_["window"];
    const Field multiplier = mapping_["unit_multiplier"];
    if (unit && window) {
      reading_.AddNameError(window, "repeats `unit` on line " + std::to_string(unit.key.line) +
                                        "; leave one of them out");
    } else if (unit) {
      const auto read = reading_.Choice<Unit>(unit, kUnits);
      if (!read) return;
      const Micros length = LengthOf(*read);
      const std::int64_t times =
          multiplier ? reading_.Whole(multiplier, 1, kMaxWindow / length).value_or(1) : 1;
      made_.window = length * times;
    } else if (multiplier) {
      reading_.AddNameError(multiplier, "needs a `unit`");
    } else if (window) {
      const auto read = window->kind == YamlKind::kScalar
                            ? ParseDuration(window->text, std::chrono::seconds(1))
                            : std::nullopt;
      if (read) {
        made_.window = *read;
      } else {
        reading_.AddError(window, "expected a duration such as 30s, found " + Found(*window.node));
      }
    } else {
      reading_.AddError(field_, "needs a `unit`: second, minute, hour, day, week, month or year");
    }
    made_.unit = UnitOf(made_.window);
  }

  // The field that an error of the limit is reported at.
  const Field& Blamed(const Error& error) {
    blamed_ = mapping_[error.field == "window" ? "window" : "requests_per_unit"];
    if (!blamed_) blamed_ = mapping_["unit"];
    return blamed_ ? blamed_ : field_;
  }

  void MakeLimit() {
    const Field burst = mapping_["burst"];
    const bool is_bucket = algo::IsBucket(algorithm_);
    std::int64_t capacity = made_.requests_per_unit;
    if (burst && !is_bucket) {
      reading_.AddNameError(burst, std::string("is of no use to ") + AlgorithmName(algorithm_) +
                                       "; token_bucket and leaky_bucket have bursts");
    } else if (burst) {
      capacity = reading_.Whole(burst, 1, kMaxAmount).value_or(1);
    }
    made_.limit = NeverAsked();
    if (made_.requests_per_unit == 0) return;
    LimitNumbers numbers{.algorithm = algorithm_, .cap = capacity};
    if (is_bucket) {
      numbers.rate_num = made_.requests_per_unit;
      numbers.rate_den = made_.window.count();
    } else {
      numbers.window = made_.window;
    }
    const auto limit = Limit::FromNumbers(numbers);
    if (limit) {
      made_.limit = *limit;
    } else {
      reading_.AddError(Blamed(limit.error()), limit.error().message);
    }
  }

  config_text::Reading& reading_;
  const Field field_;
  const config_text::Mapping mapping_;
  Algorithm algorithm_;
  RateLimit made_{.limit = NeverAsked()};
  Field blamed_;
};

}  // namespace

std::optional<RateLimit> ReadRateLimit(config_text::Reading& reading, const Field& field,
                                       Algorithm algorithm_of_file) {
  return RateLimitReader(reading, field, algorithm_of_file).Read();
}

std::optional<Algorithm> ReadAlgorithm(config_text::Reading& reading, const Field& field) {
  // Not concurrency: Envoy does not report when a call ends.
  return reading.Choice<Algorithm>(field, algo::AlgorithmWords(false));
}

}  // namespace sluice::envoy
