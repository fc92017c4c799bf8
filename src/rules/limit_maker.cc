#include "rules/limit_maker.h"

#include <array>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <span>
#include <utility>

#include "config_text/rate_text.h"
#include "config_text/suggestion.h"

namespace sluice::rules {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

bool Serves(Algorithm algorithm, Quantity quantity) {
  if (quantity == Quantity::kAlgorithm || quantity == Quantity::kLimit ||
      quantity == Quantity::kMaxCost) {
    return true;
  }
  if (quantity == Quantity::kMaxSettlement) return algorithm != Algorithm::kConcurrency;
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return quantity != Quantity::kAnchor && quantity != Quantity::kTimeToLive;
    case Algorithm::kLeakyBucket:
      return quantity == Quantity::kCapacity || quantity == Quantity::kRefillRate ||
             quantity == Quantity::kRefillInterval || quantity == Quantity::kWindow;
    case Algorithm::kFixedWindow:
      return quantity == Quantity::kWindow || quantity == Quantity::kAnchor;
    case Algorithm::kSlidingWindowLog:
    case Algorithm::kSlidingWindowCounter:
      return quantity == Quantity::kWindow;
    case Algorithm::kConcurrency:
      return quantity == Quantity::kTimeToLive;
  }
  return false;
}

void DropUseless(config_text::Reading& reading, LimitLevel& level) {
  const QuantityValue algorithm = level[Quantity::kAlgorithm];
  for (std::size_t i = 0; i < kQuantities; ++i) {
    QuantityValue& given = level.given[i];
    if (!given || Serves(algorithm.algorithm, static_cast<Quantity>(i))) continue;
    if (given.level >= Level::kRule && given.level >= algorithm.level) {
      std::string message = std::string("is of no use to ") + AlgorithmName(algorithm.algorithm);
      if (static_cast<Quantity>(i) == Quantity::kCapacity) message += "; did you mean `limit`?";
      reading.AddNameError(given.field, std::move(message));
    }
    given = {};
  }
}

// Reports an error at its field, or at another field of the limit if it is not set.
void Report(config_text::Reading& reading, const LimitLevel& level, const Error& error) {
  static constexpr std::pair<std::string_view, Quantity> kFields[] = {
      {"capacity", Quantity::kCapacity},
      {"limit", Quantity::kLimit},
      {"window", Quantity::kWindow},
      {"refill_interval", Quantity::kRefillInterval},
      {"refill", Quantity::kRefillRate},
      {"leak", Quantity::kRefillRate},
      {"burst_multiplier", Quantity::kBurstMultiplier},
      {"burst_allowance", Quantity::kBurstAllowance},
      {"time_to_live", Quantity::kTimeToLive},
  };
  for (const auto& [name, quantity] : kFields) {
    const QuantityValue& given = level[quantity];
    if (name != error.field || !given) continue;
    // The position already has the name.
    const bool redundant = given.field.name == name;
    reading.AddError(given.field,
                     redundant ? error.message.substr(name.size() + 1) : error.message);
    return;
  }
  for (const Quantity quantity : {Quantity::kLimit, Quantity::kCapacity}) {
    if (!level[quantity]) continue;
    reading.AddError(level[quantity].field, error.message);
    return;
  }
}

/// Of buckets: how much they hold, and how fast it arrives.
struct Flow {
  std::int64_t capacity = 0;
  Rate rate;
};

class Maker {
 public:
  Maker(config_text::Reading& reading, const LimitLevel& level)
      : reading_(reading), level_(level), algorithm_(level[Quantity::kAlgorithm].algorithm) {}

  MadeLimit Make() {
    const QuantityValue& limit = level_[Quantity::kLimit];
    const QuantityValue& capacity = level_[Quantity::kCapacity];
    if ((limit && limit.whole == 0) || (capacity && capacity.whole == 0)) {
      made_.reject_all = true;
      made_.limit = *Limit::Concurrency({.limit = 1});  // Never asked.
      return std::move(made_);
    }
    made_.window = level_[Quantity::kWindow].duration;
    switch (algorithm_) {
      case Algorithm::kTokenBucket:
        MakeTokenBucket();
        break;
      case Algorithm::kLeakyBucket:
        if (const auto flow = FindFlow()) {
          Keep(Limit::LeakyBucket({.capacity = flow->capacity, .leak = flow->rate}));
        }
        break;
      case Algorithm::kFixedWindow:
        MakeFixedWindow();
        break;
      case Algorithm::kSlidingWindowLog:
      case Algorithm::kSlidingWindowCounter:
        if (Needs({Quantity::kLimit, Quantity::kWindow})) {
          Keep(Limit::FromNumbers(
              {.algorithm = algorithm_, .cap = limit.whole, .window = made_.window}));
        }
        break;
      case Algorithm::kConcurrency:
        MakeConcurrency();
        break;
    }
    return std::move(made_);
  }

 private:
  void Keep(const Result<Limit>& limit) {
    if (limit) {
      made_.limit = *limit;
    } else {
      Report(reading_, level_, limit.error());
    }
  }

  bool Needs(std::initializer_list<Quantity> quantities) {
    for (const Quantity quantity : quantities) {
      if (level_[quantity]) continue;
      made_.missing = std::string(AlgorithmName(algorithm_)) + " needs " +
                      (quantity == Quantity::kWindow ? "a `window` beside `limit: 100`, or `limit: "
                                                       "100 per minute`"
                                                     : "a `limit`");
      return false;
    }
    return true;
  }

  std::optional<Flow> FindFlow() {
    const QuantityValue& capacity = level_[Quantity::kCapacity];
    const QuantityValue& refill = level_[Quantity::kRefillRate];
    if (level_[Quantity::kLimit]) {
      if (!Needs({Quantity::kLimit, Quantity::kWindow})) return std::nullopt;
      const std::int64_t limit = level_[Quantity::kLimit].whole;
      return Flow{limit, Rate::Per(limit, level_[Quantity::kWindow].duration)};
    }
    if (!capacity || !refill) {
      made_.missing = std::string(AlgorithmName(algorithm_)) + " needs " +
                      (capacity ? "a `refill_rate` beside its `capacity`"
                       : refill ? "a `capacity` beside its `refill_rate`"
                                : "`capacity` and `refill_rate`, or `limit: 100 per minute`");
      return std::nullopt;
    }
    const QuantityValue& interval = level_[Quantity::kRefillInterval];
    const Micros period = refill.duration > Micros{0} ? refill.duration
                          : interval                  ? interval.duration
                                                      : Micros{seconds(1)};
    const auto rate = config_text::ToRate(refill.decimal, period);
    if (!rate) {
      reading_.AddError(refill.field,
                        config_text::Shown(refill.field->text) +
                            " is more than a limit can hold exactly: at most 2^53 "
                            "tokens, and at least one in 100 years; use fewer digits");
      return std::nullopt;
    }
    return Flow{capacity.whole, *rate};
  }

  void MakeTokenBucket() {
    const auto flow = FindFlow();
    if (!flow) return;
    const QuantityValue& multiplier = level_[Quantity::kBurstMultiplier];
    TokenBucketSpec spec{.capacity = flow->capacity, .refill = flow->rate};
    spec.burst_allowance = level_[Quantity::kBurstAllowance].whole;
    spec.refill_interval = level_[Quantity::kRefillInterval].duration;
    if (multiplier) {
      // The limit takes it as a decimal again, with six digits.
      spec.burst_multiplier =
          static_cast<double>(multiplier.decimal.digits) / std::pow(10.0, multiplier.decimal.scale);
    }
    Keep(Limit::TokenBucket(spec));
  }

  void MakeFixedWindow() {
    if (!Needs({Quantity::kLimit})) return;
    const QuantityValue& anchor = level_[Quantity::kAnchor];
    if (anchor && IsCalendar(anchor.anchor)) {
      if (level_[Quantity::kWindow]) {
        reading_.AddError(level_[Quantity::kWindow].field,
                          "contradicts `anchor: " + std::string(anchor.field->text) +
                              "`, which is a window of its own; leave one of them out");
        return;
      }
      made_.window = anchor.anchor == Anchor::kDay    ? Micros{hours(24)}
                     : anchor.anchor == Anchor::kWeek ? Micros{hours(24 * 7)}
                                                      : Micros{0};
      Keep(Limit::FixedWindow({.limit = level_[Quantity::kLimit].whole, .anchor = anchor.anchor}));
    } else if (Needs({Quantity::kWindow})) {
      Keep(Limit::FixedWindow({.limit = level_[Quantity::kLimit].whole,
                               .window = made_.window,
                               .anchor = anchor.anchor}));
    }
  }

  void MakeConcurrency() {
    if (!Needs({Quantity::kLimit})) return;
    ConcurrencySpec spec{.limit = level_[Quantity::kLimit].whole};
    const QuantityValue& ttl = level_[Quantity::kTimeToLive];
    if (ttl) spec.time_to_live = ttl.duration;
    Keep(Limit::Concurrency(spec));
  }

  config_text::Reading& reading_;
  const LimitLevel& level_;
  Algorithm algorithm_;
  MadeLimit made_;
};

// Money is counted in calendar windows, unless an algorithm is named: "50 USD per day" is a day's.
void ChooseCalendar(LimitLevel& level) {
  QuantityValue& algorithm = level[Quantity::kAlgorithm];
  const bool is_for_others =
      algorithm.level < Level::kRule && level[Quantity::kLimit].level >= Level::kRule;
  if (!algorithm || is_for_others) {
    algorithm = {};
    algorithm.algorithm = Algorithm::kFixedWindow;
  }
  QuantityValue& window = level[Quantity::kWindow];
  const bool is_implied = window && window.field.node == level[Quantity::kLimit].field.node;
  if (algorithm.algorithm != Algorithm::kFixedWindow || !is_implied || level[Quantity::kAnchor]) {
    return;
  }
  const bool is_week = window.duration == Micros{hours(24 * 7)};
  if (!is_week && window.duration != Micros{hours(24)}) return;
  QuantityValue& anchor = level[Quantity::kAnchor];
  anchor = window;
  anchor.anchor = is_week ? Anchor::kWeek : Anchor::kDay;
  window = {};
}

}  // namespace

MadeLimit MakeLimit(config_text::Reading& reading, LimitLevel& level) {
  if (level[Quantity::kLimit].is_money) ChooseCalendar(level);
  DropUseless(reading, level);
  return Maker(reading, level).Make();
}

std::vector<Setting> SettingsOf(const LimitLevel& level) {
  // In the order of Quantity.
  static constexpr std::array<std::string_view, kQuantities> kNames = {
      "algorithm",       "capacity",      "refill_rate", "refill_interval", "burst_multiplier",
      "burst_allowance", "limit",         "window",      "anchor",          "ttl",
      "max_cost",        "max_settlement"};
  std::vector<Setting> settings;
  for (std::size_t i = 0; i < kQuantities; ++i) {
    const QuantityValue& given = level.given[i];
    if (!given) continue;
    // The window of "100 per minute" is not a separate field.
    const auto quantity = static_cast<Quantity>(i);
    const bool implied = (quantity == Quantity::kWindow || quantity == Quantity::kAnchor) &&
                         given.field.node == level[Quantity::kLimit].field.node;
    if (implied) continue;
    settings.push_back({std::string(given.field.name), kNames[i], std::string(given.field->text),
                        given.level, given.field->position});
  }
  return settings;
}

}  // namespace sluice::rules
