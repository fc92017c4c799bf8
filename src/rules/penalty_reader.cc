#include "rules/penalty_reader.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/duration.h"
#include "config_text/mapping.h"
#include "config_text/suggestion.h"
#include "rules/field_names.h"

namespace sluice::rules {
namespace {

constexpr std::int64_t kMaxStrikes = 1'000'000;
constexpr std::size_t kMaxSteps = 16;
constexpr Micros kMinTime = std::chrono::seconds(1);
constexpr Micros kMaxWithin = std::chrono::hours(24);
constexpr Micros kMaxStep = std::chrono::hours(24 * 365);
constexpr Micros kMaxForget = std::chrono::hours(24 * 365);
constexpr int kMaxFactorScale = 6;

constexpr std::array<std::pair<std::string_view, PenaltyScope>, 3> kPenaltyScopes = {{
    {"rule", PenaltyScope::kRule},
    {"caller", PenaltyScope::kCaller},
    {"network", PenaltyScope::kNetwork},
}};
constexpr std::array<std::pair<std::string_view, int>, 2> kStatuses = {
    {{"429", 429}, {"403", 403}}};
constexpr std::array<std::string_view, 5> kOfTheCall = {"endpoint", "method", "host", "tier",
                                                        "path"};

class PenaltyReader {
 public:
  PenaltyReader(config_text::Reading& reading, const config_text::Field& field)
      : reading_(reading), field_(field), mapping_(reading, field, PenaltyFields()) {}

  std::optional<Penalty> Read() {
    const std::size_t before = reading_.errors();
    if (!mapping_.ok()) return std::nullopt;
    ReadAfter();
    ReadSteps();
    if (const config_text::Field jitter = mapping_["jitter"]) ReadJitter(jitter);
    penalty_.forget = std::chrono::hours(24);
    if (const config_text::Field forget = mapping_["forget"]) {
      penalty_.forget = Duration(forget, kMaxForget).value_or(penalty_.forget);
    }
    if (const config_text::Field scope = mapping_["scope"]) {
      penalty_.scope =
          reading_.Choice<PenaltyScope>(scope, kPenaltyScopes).value_or(penalty_.scope);
    }
    ReadAction();
    if (const config_text::Field shadow = mapping_["shadow"]) {
      penalty_.shadow = reading_.Flag(shadow).value_or(false);
    }
    if (reading_.errors() > before) return std::nullopt;
    return std::move(penalty_);
  }

 private:
  std::optional<Micros> Duration(const config_text::Field& field, Micros most) {
    const auto duration = field->kind == config_text::YamlKind::kScalar ? ParseDuration(field->text)
                                                                        : std::optional<Micros>();
    if (duration && *duration >= kMinTime && *duration <= most) return duration;
    reading_.AddError(field, "expected a duration from 1s to " + FormatDuration(most) +
                                 ", such as 10m, found " + config_text::Found(*field.node));
    return std::nullopt;
  }

  void ReadAfter() {
    const config_text::Field field = mapping_["after"];
    if (!field) {
      reading_.AddError(field_, "needs `after`, such as {denials: 20, within: 1m}");
      return;
    }
    const config_text::Mapping after(reading_, field, PenaltyAfterFields());
    if (!after.ok()) return;
    const config_text::Field denials = after["denials"];
    const config_text::Field ignored = after["ignored_backoff"];
    const config_text::Field within = after["within"];
    if (denials) penalty_.denials = reading_.Whole(denials, 1, kMaxStrikes).value_or(0);
    if (ignored) penalty_.ignored_backoff = reading_.Whole(ignored, 1, kMaxStrikes).value_or(0);
    if (!denials && !ignored) {
      reading_.AddError(field, "needs `denials` or `ignored_backoff`: how many make an offense");
    }
    if (within) {
      penalty_.within = Duration(within, kMaxWithin).value_or(Micros{0});
    } else {
      reading_.AddError(field, "needs `within`: the time in which they are counted");
    }
  }

  void ReadSteps() {
    const config_text::Field field = mapping_["steps"];
    if (!field) {
      reading_.AddError(field_,
                        "needs `steps`: how long the first, the second, … penalty lasts, such as "
                        "[1m, 10m, 1h]");
      return;
    }
    const auto items = reading_.Items(field);
    if (items.empty() || items.size() > kMaxSteps) {
      reading_.AddError(field, "has " + std::to_string(items.size()) + " steps; expected 1 to " +
                                   std::to_string(kMaxSteps));
      return;
    }
    for (const config_text::Field& item : items) {
      const auto step = Duration(item, kMaxStep);
      if (!step) continue;
      if (!penalty_.steps.empty() && *step < penalty_.steps.back()) {
        reading_.AddError(item, "is shorter than the step before it");
      }
      penalty_.steps.push_back(*step);
    }
  }

  // "10%", "0.5 %".
  void ReadJitter(const config_text::Field& field) {
    constexpr std::int64_t kMax = 100;
    std::string_view text;
    if (field->kind == config_text::YamlKind::kScalar) text = field->text;
    const auto number = TakeDecimal(text);
    while (text.starts_with(' ')) text.remove_prefix(1);
    const bool is_valid = number && text == "%" && number->digits >= 0 && number->scale >= 0 &&
                          number->scale <= 2 && number->digits <= kMax * PowerOfTen(number->scale);
    if (!is_valid) {
      reading_.AddError(field, "expected a percentage from 0% to 100%, such as 10%, found " +
                                   config_text::Found(*field.node));
      return;
    }
    penalty_.jitter = static_cast<std::uint32_t>(number->digits * PowerOfTen(2 - number->scale));
  }

  void ReadAction() {
    const config_text::Field action = mapping_["action"];
    const config_text::Field status = mapping_["status"];
    if (action && action->kind == config_text::YamlKind::kMapping) {
      ReadFactor(action);
      if (status) reading_.AddNameError(status, "is of no use: only a block has a status");
      return;
    }
    if (action && (action->kind != config_text::YamlKind::kScalar || action->text != "block")) {
      reading_.AddError(action,
                        "expected block, or {multiply: 0.1} for a tenth of the limits, found " +
                            config_text::Found(*action.node));
    }
    if (status) penalty_.status = reading_.Choice<int>(status, kStatuses).value_or(429);
  }

  void ReadFactor(const config_text::Field& field) {
    const config_text::Mapping action(reading_, field, PenaltyActionFields());
    if (!action.ok()) return;
    const config_text::Field multiply = action["multiply"];
    if (!multiply) {
      reading_.AddError(field, "needs `multiply`: a factor below 1");
      return;
    }
    const auto factor = multiply->kind == config_text::YamlKind::kScalar
                            ? ParseDecimal(multiply->text)
                            : std::optional<sluice::Decimal>();
    const bool is_valid = factor && factor->digits > 0 && factor->scale > 0 &&
                          factor->scale <= kMaxFactorScale &&
                          factor->digits < PowerOfTen(factor->scale);
    if (is_valid) {
      penalty_.factor = factor;
    } else {
      reading_.AddError(multiply,
                        "expected a number above 0 and below 1 with at most 6 decimals, found " +
                            config_text::Found(*multiply.node));
    }
  }

  config_text::Reading& reading_;
  const config_text::Field& field_;
  config_text::Mapping mapping_;
  Penalty penalty_;
};

}  // namespace

std::optional<Penalty> ReadPenalty(config_text::Reading& reading, const config_text::Field& field) {
  return PenaltyReader(reading, field).Read();
}

bool DescribesCall(std::string_view attribute) {
  return std::find(kOfTheCall.begin(), kOfTheCall.end(), attribute) != kOfTheCall.end();
}

bool IdentifiesCallers(const std::optional<std::vector<std::string>>& per) {
  return !per || std::any_of(per->begin(), per->end(), [](const std::string& attribute) {
    return !DescribesCall(attribute);
  });
}

}  // namespace sluice::rules
