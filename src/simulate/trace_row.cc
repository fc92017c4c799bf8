#include "simulate/trace_row.h"

#include "base/parse_number.h"

namespace sluice::simulate {
namespace {

std::string Expected(std::string_view field, std::string_view what, std::string_view found) {
  constexpr std::size_t kShown = 80;
  std::string text(field);
  text += ": expected ";
  text += what;
  text += ", found \"";
  text += found.substr(0, kShown);
  if (found.size() > kShown) text += "…";
  return text + '"';
}

}  // namespace

std::size_t LineSize(std::string_view input, bool at_end) {
  const std::size_t end = input.find('\n');
  if (end != std::string_view::npos) return end + 1;
  return at_end ? input.size() : 0;
}

std::string_view WithoutEnd(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

Field FieldOf(std::string_view name) {
  if (name == "time") return Field::kTime;
  if (name == "cost") return Field::kCost;
  if (name == "duration") return Field::kDuration;
  return Field::kAttribute;
}

std::string SetField(Field field, std::string_view text, TimeUnit unit, TraceRow& row) {
  if (field == Field::kTime) {
    const auto time = ParseTime(text, unit);
    if (!time) return Expected("time", "a date such as 2026-11-15T12:00:00Z or a number", text);
    row.time = *time;
  } else if (field == Field::kCost) {
    const auto cost = ParseNumber<std::int64_t>(text);
    if (!cost || *cost < 1) return Expected("cost", "a whole number, at least 1", text);
    row.cost = *cost;
  } else if (field == Field::kDuration) {
    row.duration = ParseSeconds(text);
    if (!row.duration) return Expected("duration", "seconds such as 0.25", text);
  }
  return {};
}

}  // namespace sluice::simulate
