#include "statsd/statsd_lines.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "base/parse_number.h"

namespace sluice::statsd {
namespace {

constexpr std::size_t kMaxPart = 200;

// Receivers take apart lines at ':', '|', '@', ',' and '#', and names at '.',
// whatever is meant.
void AppendClean(std::string_view text, bool keeps_dots, std::string& out) {
  for (const char c : text.substr(0, kMaxPart)) {
    const bool is_kept =
        IsLetter(c) || IsDigit(c) || c == '_' || c == '-' || (keeps_dots && (c == '.' || c == '/'));
    out += is_kept ? c : '_';
  }
}

void AppendValue(double value, std::string& out) {
  constexpr double kExact = 9'007'199'254'740'992;  // 2^53: no exponents, which some don't read.
  if (std::abs(value) < kExact && value == std::floor(value)) {
    AppendNumber(static_cast<std::int64_t>(value), out);
  } else {
    std::array<char, 400> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                   std::chars_format::fixed);
    out.append(digits.data(), end.ptr);
  }
}

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void StatsdLines::Family(std::string_view name, MetricType type, std::string_view /*help*/) {
  name_ = name;
  type_ = type;
}

void StatsdLines::Add(std::string_view suffix, MetricType type, Labels labels, double value) {
  if (type_ == MetricType::kInfo) return;
  series_.assign(prefix_).append(name_).append(suffix);
  tags_.clear();
  const auto add = [this](std::string_view name, std::string_view label_value) {
    if (format_ == Format::kStatsd) {
      series_ += '.';
      AppendClean(label_value.empty() ? "none" : label_value, false, series_);
    } else {
      tags_ += tags_.empty() ? "|#" : ",";
      AppendClean(name, false, tags_);
      tags_ += ':';
      AppendClean(label_value, true, tags_);
    }
  };
  for (const auto& [name, label_value] : labels_) add(name, label_value);
  for (const Label& label : labels) add(label.name, label.value);
  if (type == MetricType::kCounter) {
    double& last = last_[series_ + tags_];
    const double added = value - last;
    if (added <= 0) return;  // Nothing happened.
    last = value;
    value = added;
  }
  // A gauge with a sign is a change in StatsD: a negative value is one from
  // zero.
  if (type != MetricType::kCounter && value < 0) AppendLine(series_ + ":0|g" + tags_);
  std::string line = series_ + ":";
  AppendValue(value, line);
  AppendLine(line.append(type == MetricType::kCounter ? "|c" : "|g").append(tags_));
}

void StatsdLines::AppendLine(std::string_view line) {
  if (line.size() > kMaxBytes) return;
  if (datagrams_.empty() || datagrams_.back().size() + 1 + line.size() > kMaxBytes) {
    datagrams_.emplace_back(line);
  } else {
    datagrams_.back().append("\n").append(line);
  }
}

void StatsdLines::Sample(Labels labels, std::uint64_t value) {
  Add("", type_, labels, static_cast<double>(value));
}
void StatsdLines::Sample(Labels labels, std::int64_t value) {
  Add("", type_, labels, static_cast<double>(value));
}
void StatsdLines::Sample(Labels labels, double value) { Add("", type_, labels, value); }
void StatsdLines::Sample(Labels labels, std::chrono::nanoseconds value) {
  Add("", type_, labels, Seconds(value));
}
void StatsdLines::Sample(Labels labels, std::chrono::sys_seconds value) {
  Add("", type_, labels, static_cast<double>(value.time_since_epoch().count()));
}
void StatsdLines::Sample(Labels labels, const Histogram& value) {
  AddHistogram(labels, value.count(), value.sum());
}
void StatsdLines::Sample(Labels labels, const BucketCounts& value) {
  std::uint64_t count = 0;
  for (const std::uint64_t one : value.counts) count += one;
  AddHistogram(labels, count, value.sum);
}

void StatsdLines::AddHistogram(Labels labels, std::uint64_t count, std::chrono::nanoseconds sum) {
  Add("_count", MetricType::kCounter, labels, static_cast<double>(count));
  Add("_sum", MetricType::kCounter, labels, Seconds(sum));
}

void StatsdLines::End() {}

}  // namespace sluice::statsd
