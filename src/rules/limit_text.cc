#include "rules/limit_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

namespace sluice::rules {
namespace {

struct Unit {
  Micros span;
  const char* short_name;
  const char* name;
};

constexpr std::array kUnits{
    Unit{std::chrono::hours(24), "d", "day"}, Unit{std::chrono::hours(1), "h", "hour"},
    Unit{std::chrono::minutes(1), "m", "minute"}, Unit{std::chrono::seconds(1), "s", "second"}};

// Formats with as many digits as matter, without zeros at the end.
std::string Decimal(double number) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.10g", number);
  return text.data();
}

/// The unit of a limit: so many of what the store counts, and its name.
struct Amounts {
  std::int64_t scale = 1;
  const char* name = "";

  [[nodiscard]] std::string Text(double parts) const {
    return Decimal(parts / static_cast<double>(scale)) + name;
  }
  [[nodiscard]] std::string Text(std::int64_t parts) const {
    if (parts % scale == 0) return std::to_string(parts / scale) + name;
    return Text(static_cast<double>(parts));
  }
};

constexpr Amounts kDollars{.scale = kNanosPerDollar, .name = " USD"};

// Per the shortest unit with at least one.
std::string RateText(const LimitNumbers& numbers, const Amounts& amounts) {
  const double per_micro =
      static_cast<double>(numbers.rate_num) / static_cast<double>(amounts.scale) /
      (static_cast<double>(numbers.rate_den) * static_cast<double>(numbers.interval.count()));
  const Unit* unit = &kUnits.back();
  while (unit != kUnits.data() && per_micro * static_cast<double>(unit->span.count()) < 0.9999999) {
    --unit;
  }
  std::string text = Decimal(per_micro * static_cast<double>(unit->span.count())) + amounts.name;
  text += " per ";
  text += unit->name;
  if (numbers.interval != Micros{1}) text += ", every " + SpanText(numbers.interval);
  return text;
}

std::string WindowText(const LimitNumbers& numbers) {
  switch (numbers.anchor) {
    case Anchor::kDay:
      return "calendar day (UTC)";
    case Anchor::kWeek:
      return "calendar week (UTC)";
    case Anchor::kMonth:
      return "calendar month (UTC)";
    case Anchor::kYear:
      return "calendar year (UTC)";
    case Anchor::kFirstHit:
      return SpanText(numbers.window) + " from the first call";
    case Anchor::kEpoch:
      break;
  }
  return SpanText(numbers.window);
}

}  // namespace

std::string SpanText(Micros span) {
  for (const Unit& unit : kUnits) {
    if (span.count() % unit.span.count() == 0 && span >= unit.span) {
      return std::to_string(span / unit.span) + unit.short_name;
    }
  }
  if (span >= std::chrono::seconds(1))
    return Decimal(static_cast<double>(span.count()) / 1e6) + "s";
  if (span.count() % 1000 == 0) return std::to_string(span.count() / 1000) + "ms";
  return std::to_string(span.count()) + "us";
}

namespace {

std::string LimitText(const LimitNumbers& numbers, const Amounts& amounts) {
  const std::string cap = amounts.Text(numbers.cap);
  switch (numbers.algorithm) {
    case Algorithm::kTokenBucket:
      return cap + " at once, then " + RateText(numbers, amounts);
    case Algorithm::kLeakyBucket:
      return RateText(numbers, amounts) + ", up to " + cap + " waiting";
    case Algorithm::kFixedWindow:
      return cap + " in each " + WindowText(numbers);
    case Algorithm::kSlidingWindowLog:
      return cap + " in any " + WindowText(numbers);
    case Algorithm::kSlidingWindowCounter:
      return "about " + cap + " in any " + WindowText(numbers);
    case Algorithm::kConcurrency:
      return cap + " in flight, each for at most " + SpanText(numbers.window);
  }
  return {};
}

}  // namespace

std::string LimitText(const LimitNumbers& numbers) { return LimitText(numbers, Amounts{}); }

std::string LimitText(const NamedLimit& limit, const LimitNumbers& numbers) {
  return LimitText(numbers, CountsMoney(limit) ? kDollars : Amounts{.scale = limit.scale});
}

std::string DollarText(std::int64_t nanos) { return kDollars.Text(nanos); }

}  // namespace sluice::rules
