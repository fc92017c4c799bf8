#include "rules/limit_level.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "algo/algorithm_info.h"
#include "base/decimal.h"
#include "base/duration.h"
#include "config_text/rate_text.h"
#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array<std::pair<std::string_view, Anchor>, 6> kAnchors = {{
    {"epoch", Anchor::kEpoch},
    {"first_hit", Anchor::kFirstHit},
    {"day", Anchor::kDay},
    {"week", Anchor::kWeek},
    {"month", Anchor::kMonth},
    {"year", Anchor::kYear},
}};

constexpr std::string_view kRateForms = "a rate such as `100 per minute` or `30/s`";

/// Reads the fields of one level.
class LevelReader {
 public:
  LevelReader(config_text::Reading& reading, Level level) : reading_(reading), level_(level) {}

  void Read(const config_text::Mapping& mapping) {
    ReadAlgorithm(mapping["algorithm"]);
    ReadAmount(mapping["capacity"], Quantity::kCapacity, 0);
    ReadRefillRate(mapping.Either("refill_rate", "leak_rate"));
    ReadDuration(mapping["refill_interval"], Quantity::kRefillInterval, milliseconds(1));
    ReadMultiplier(mapping["burst_multiplier"]);
    ReadAmount(mapping["burst_allowance"], Quantity::kBurstAllowance, 0);
    // Before `limit`, which may say a window, too.
    ReadDuration(mapping["window"], Quantity::kWindow, seconds(1));
    if (const config_text::Field limit = mapping["limit"];
        limit && limit->kind != config_text::YamlKind::kSequence) {
      ReadLimit(limit);
    }
    ReadAnchor(mapping["anchor"]);
    ReadDuration(mapping.Either("ttl", "time_to_live"), Quantity::kTimeToLive, seconds(1));
    ReadAmount(mapping["max_cost"], Quantity::kMaxCost, 1);
    ReadAmount(mapping["max_settlement"], Quantity::kMaxSettlement, 1);
    CheckForms();
    ReadRejectAll(mapping["reject_all"]);
  }

  void ReadLimit(const config_text::Field& field) {
    const auto rate = field->kind == config_text::YamlKind::kScalar
                          ? config_text::ParseRate(field->text)
                          : std::optional<config_text::RateText>();
    if (!rate) {
      ReportLimit(field);
      return;
    }
    QuantityValue& given = Set(Quantity::kLimit, field);
    if (const auto whole = ToWhole(rate->amount); whole && InRange(field, *whole, 0)) {
      given.whole = *whole;
    } else {
      if (!whole) {
        reading_.AddError(field,
                          "expected a whole number, found " + config_text::Found(*field.node) +
                              "; for a fraction take a longer time, as 3/2s for 1.5/s, or write "
                              "`capacity` and `refill_rate`");
      }
      given = {};
      return;
    }
    if (!rate->period) return;
    QuantityValue& window = level_read_[Quantity::kWindow];
    if (window) {
      reading_.AddError(window.field, config_text::Shown(field->text) + " of `" +
                                          std::string(field.name) +
                                          "` has its window already; leave this out");
    }
    if (!CheckDuration(field, *rate->period)) return;
    window = {};
    Set(Quantity::kWindow, field).duration = *rate->period;
  }

  LimitLevel Take() { return level_read_; }

 private:
  QuantityValue& Set(Quantity quantity, const config_text::Field& field) {
    QuantityValue& given = level_read_[quantity];
    given.field = field;
    given.level = level_;
    return given;
  }

  bool InRange(const config_text::Field& field, std::int64_t value, std::int64_t low) {
    if (value >= low && value <= kMaxAmount) return true;
    reading_.AddError(field, "must be between " + std::to_string(low) + " and " +
                                 std::to_string(kMaxAmount) + ", found " + std::to_string(value));
    return false;
  }

  bool CheckDuration(const config_text::Field& field, Micros value) {
    if (value >= Micros{1} && value <= kMaxWindow) return true;
    reading_.AddError(field, "must be between 1 microsecond and 100 years, found " +
                                 config_text::Shown(field->text));
    return false;
  }

  void ReadAlgorithm(const config_text::Field& field) {
    if (!field) return;
    const auto algorithm = reading_.Choice<Algorithm>(field, algo::AlgorithmWords(true));
    if (algorithm) Set(Quantity::kAlgorithm, field).algorithm = *algorithm;
  }

  void ReadAnchor(const config_text::Field& field) {
    if (!field) return;
    const auto anchor = reading_.Choice<Anchor>(field, kAnchors);
    if (anchor) Set(Quantity::kAnchor, field).anchor = *anchor;
  }

  void ReadAmount(const config_text::Field& field, Quantity quantity, std::int64_t low) {
    if (!field) return;
    const auto whole = field->kind == config_text::YamlKind::kScalar
                           ? ParseWhole(field->text)
                           : std::optional<std::int64_t>();
    if (!whole) {
      reading_.AddError(field, "expected a whole number, found " + config_text::Found(*field.node));
    } else if (InRange(field, *whole, low)) {
      Set(quantity, field).whole = *whole;
    }
  }

  void ReadRefillRate(const config_text::Field& field) {
    if (!field) return;
    const auto rate = field->kind == config_text::YamlKind::kScalar
                          ? config_text::ParseRate(field->text)
                          : std::optional<config_text::RateText>();
    if (!rate) {
      reading_.AddError(field, "expected a number, or " + std::string(kRateForms) + ", found " +
                                   config_text::Found(*field.node));
    } else if (rate->amount.digits <= 0) {
      reading_.AddError(field,
                        "must be more than 0, found " + config_text::Shown(field->text) +
                            "; a bucket that is never refilled rejects every call in the end");
    } else if (!rate->period || CheckDuration(field, *rate->period)) {
      QuantityValue& given = Set(Quantity::kRefillRate, field);
      given.decimal = rate->amount;
      given.duration = rate->period.value_or(Micros{0});
    }
  }

  void ReadDuration(const config_text::Field& field, Quantity quantity, Micros plain) {
    if (!field) return;
    const auto duration = field->kind == config_text::YamlKind::kScalar
                              ? ParseDuration(field->text, plain)
                              : std::optional<Micros>();
    if (!duration) {
      const std::string_view unit = plain == seconds(1) ? "seconds" : "milliseconds";
      reading_.AddError(field, "expected a duration such as 60s, 5m, 1h or 1d, or a number of " +
                                   std::string(unit) + ", found " +
                                   config_text::Found(*field.node));
    } else if (CheckDuration(field, *duration)) {
      Set(quantity, field).duration = *duration;
    }
  }

  void ReadMultiplier(const config_text::Field& field) {
    if (!field) return;
    const auto decimal = field->kind == config_text::YamlKind::kScalar ? ParseDecimal(field->text)
                                                                       : std::optional<Decimal>();
    if (!decimal) {
      reading_.AddError(field, "expected a number, found " + config_text::Found(*field.node));
    } else {
      Set(Quantity::kBurstMultiplier, field).decimal = *decimal;
    }
  }

  void ReportLimit(const config_text::Field& field) {
    if (field->kind == config_text::YamlKind::kScalar &&
        config_text::IsPerCalendarTime(field->text)) {
      reading_.AddError(field,
                        "months and years differ in length; write `algorithm: fixed_window` "
                        "and `anchor: month` or `anchor: year` beside a plain number");
      return;
    }
    reading_.AddError(field, "expected a whole number, or " + std::string(kRateForms) + ", found " +
                                 config_text::Found(*field.node));
  }

  void CheckForms() {
    const QuantityValue& limit = level_read_[Quantity::kLimit];
    for (const Quantity other : {Quantity::kCapacity, Quantity::kRefillRate}) {
      QuantityValue& given = level_read_[other];
      if (!limit || !given) continue;
      reading_.AddError(given.field,
                        "repeats `limit` on line " + std::to_string(limit.field.key.line) +
                            "; write `capacity` and `refill_rate`, or `limit` and `window`");
      given = {};
    }
  }

  void ReadRejectAll(const config_text::Field& field) {
    const bool says_so = field && reading_.Flag(field).value_or(false);
    bool has_amount = false;
    for (const Quantity quantity : {Quantity::kCapacity, Quantity::kLimit}) {
      const QuantityValue& given = level_read_[quantity];
      if (!given) continue;
      has_amount = true;
      if (given.whole == 0 && !says_so) {
        reading_.AddError(
            given.field,
            "0 rejects every call; write `reject_all: true` beside it if that is meant");
      } else if (given.whole > 0 && says_so) {
        reading_.AddError(field, "contradicts `" + std::string(given.field.name) + ": " +
                                     std::string(given.field->text) + "`; leave one of them out");
      }
    }
    if (says_so && !has_amount) Set(Quantity::kLimit, field).whole = 0;
  }

  config_text::Reading& reading_;
  Level level_;
  LimitLevel level_read_;
};

}  // namespace

bool LimitLevel::empty() const {
  return std::none_of(given.begin(), given.end(), [](const QuantityValue& g) { return bool{g}; });
}

const std::vector<std::string_view>& QuantityFields() {
  static const std::vector<std::string_view> fields = {
      "algorithm", "limit",           "window",           "capacity",        "refill_rate",
      "leak_rate", "refill_interval", "burst_multiplier", "burst_allowance", "anchor",
      "ttl",       "time_to_live",    "max_cost",         "max_settlement",  "reject_all"};
  return fields;
}

LimitLevel ReadLimitLevel(const config_text::Mapping& mapping, Level level) {
  LevelReader reader(mapping.reading(), level);
  reader.Read(mapping);
  return reader.Take();
}

LimitLevel ReadLimitText(config_text::Reading& reading, const config_text::Field& field,
                         Level level) {
  LevelReader reader(reading, level);
  reader.ReadLimit(field);
  LimitLevel read = reader.Take();
  const QuantityValue& limit = read[Quantity::kLimit];
  if (limit && limit.whole == 0) {
    reading.AddError(field, "0 rejects every call; write `{reject_all: true}` if that is meant");
  }
  return read;
}

const LimitLevel* NamedLevels::Find(std::string_view name) const {
  for (const auto& [field, level] : by_name) {
    if (field.name == name) return &level;
  }
  return nullptr;
}

bool IsCalendar(Anchor anchor) { return anchor != Anchor::kEpoch && anchor != Anchor::kFirstHit; }

void LayOver(LimitLevel& weaker, const LimitLevel& stronger) {
  if (stronger[Quantity::kLimit]) {
    weaker[Quantity::kCapacity] = {};
    weaker[Quantity::kRefillRate] = {};
    weaker[Quantity::kRefillInterval] = {};
  }
  if (stronger[Quantity::kCapacity] || stronger[Quantity::kRefillRate]) {
    weaker[Quantity::kLimit] = {};
  }
  if (stronger[Quantity::kWindow] && IsCalendar(weaker[Quantity::kAnchor].anchor)) {
    weaker[Quantity::kAnchor] = {};
  }
  if (stronger[Quantity::kAnchor] && IsCalendar(stronger[Quantity::kAnchor].anchor)) {
    weaker[Quantity::kWindow] = {};
  }
  for (std::size_t i = 0; i < kQuantities; ++i) {
    if (stronger.given[i]) weaker.given[i] = stronger.given[i];
  }
}

}  // namespace sluice::rules
