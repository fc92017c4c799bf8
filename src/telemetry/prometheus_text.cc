#include "telemetry/prometheus_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

namespace sluice::telemetry {
namespace {

template <typename Number>
void AppendInteger(Number number, std::string& out) {
  std::array<char, 24> digits;
  out.append(digits.data(),
             std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
}

void AppendDouble(double number, std::string& out) {
  if (std::isnan(number)) {
    out += "NaN";
  } else if (std::isinf(number)) {
    out += number > 0 ? "+Inf" : "-Inf";
  } else {
    // The shortest digits that mean this number.
    std::array<char, 400> digits;
    out.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                            std::chars_format::general)
                                  .ptr);
  }
}

// A decimal without rounding: 1'500'000 ns are "0.0015".
void AppendSeconds(std::chrono::nanoseconds span, std::string& out) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  if (span.count() < 0) out += '-';
  const auto nanos = static_cast<std::uint64_t>(span.count() < 0 ? -span.count() : span.count());
  AppendInteger(nanos / kSecond, out);
  if (nanos % kSecond == 0) return;
  std::string fraction = std::to_string(kSecond + nanos % kSecond);
  fraction[0] = '.';
  out.append(fraction, 0, fraction.find_last_not_of('0') + 1);
}

const std::array<std::string, kBuckets>& BucketLabels() {
  static const auto kTexts = [] {
    std::array<std::string, kBuckets> texts;
    for (std::size_t i = 0; i < kBucketEnds.size(); ++i) {
      AppendDouble(static_cast<double>(kBucketEnds[i].count()) / 1e9, texts[i]);
    }
    texts.back() = "+Inf";
    return texts;
  }();
  return kTexts;
}

std::string_view TypeName(MetricType type, MetricsFormat format) {
  switch (type) {
    case MetricType::kCounter:
      return "counter";
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kHistogram:
      return "histogram";
    case MetricType::kInfo:
      return format == MetricsFormat::kOpenMetrics ? "info" : "gauge";
  }
  return "untyped";
}

// In OpenMetrics a family is named without what its samples end in.
std::string_view FamilyName(std::string_view name, MetricType type, MetricsFormat format) {
  if (format == MetricsFormat::kPrometheus) return name;
  const std::string_view ending = type == MetricType::kCounter ? "_total"
                                  : type == MetricType::kInfo  ? "_info"
                                                               : "";
  if (name.ends_with(ending)) name.remove_suffix(ending.size());
  return name;
}

}  // namespace

std::string_view ContentTypeOf(MetricsFormat format) {
  return format == MetricsFormat::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

void PrometheusText::Family(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  const std::string_view family = FamilyName(name, type, format_);
  out_ += "# HELP ";
  out_ += family;
  out_ += ' ';
  for (const char c : help) {
    if (c == '\n') {
      out_ += "\\n";
    } else {
      if (c == '\\' || (c == '"' && format_ == MetricsFormat::kOpenMetrics)) out_ += '\\';
      out_ += c;
    }
  }
  out_ += "\n# TYPE ";
  out_ += family;
  out_ += ' ';
  out_ += TypeName(type, format_);
  out_ += '\n';
}

void PrometheusText::Series(std::string_view suffix, Labels labels, const Label* last) {
  out_ += name_;
  out_ += suffix;
  if (!constant_.empty() || !labels.empty() || last != nullptr) {
    char separator = '{';
    const auto separate = [&] {
      out_ += separator;
      separator = ',';
    };
    if (!constant_.empty()) {
      separate();
      out_ += constant_;
    }
    for (const Label& label : labels) {
      separate();
      AppendLabel(label.name, label.value, out_);
    }
    if (last != nullptr) {
      separate();
      AppendLabel(last->name, last->value, out_);
    }
    out_ += '}';
  }
  out_ += ' ';
}

void PrometheusText::Sample(Labels labels, std::uint64_t value) {
  Series("", labels);
  AppendInteger(value, out_);
  out_ += '\n';
}

void PrometheusText::Sample(Labels labels, std::int64_t value) {
  Series("", labels);
  AppendInteger(value, out_);
  out_ += '\n';
}

void PrometheusText::Sample(Labels labels, double value) {
  Series("", labels);
  AppendDouble(value, out_);
  out_ += '\n';
}

void PrometheusText::Sample(Labels labels, std::chrono::nanoseconds value) {
  Series("", labels);
  AppendSeconds(value, out_);
  out_ += '\n';
}

void PrometheusText::Sample(Labels labels, std::chrono::sys_seconds value) {
  Sample(labels, static_cast<std::int64_t>(value.time_since_epoch().count()));
}

void PrometheusText::Sample(Labels labels, const Histogram& value) {
  std::uint64_t so_far = 0;
  for (std::size_t i = 0; i < kBuckets; ++i) {
    so_far += value.bucket(i);
    Bucket(labels, BucketLabels()[i], so_far);
  }
  EndHistogram(labels, value.sum(), so_far);
}

void PrometheusText::Sample(Labels labels, const BucketCounts& value) {
  std::uint64_t so_far = 0;
  std::string end;
  for (std::size_t i = 0; i < value.counts.size(); ++i) {
    so_far += value.counts[i];
    end.clear();
    if (i < value.ends.size()) {
      AppendSeconds(value.ends[i], end);
    } else {
      end = "+Inf";
    }
    Bucket(labels, end, so_far);
  }
  EndHistogram(labels, value.sum, so_far);
}

void PrometheusText::Bucket(Labels labels, std::string_view end, std::uint64_t count) {
  const Label le{"le", end};
  Series("_bucket", labels, &le);
  AppendInteger(count, out_);
  out_ += '\n';
}

void PrometheusText::EndHistogram(Labels labels, std::chrono::nanoseconds sum,
                                  std::uint64_t count) {
  Series("_sum", labels);
  AppendSeconds(sum, out_);
  out_ += '\n';
  Series("_count", labels);
  AppendInteger(count, out_);
  out_ += '\n';
}

void PrometheusText::End() {
  if (format_ == MetricsFormat::kOpenMetrics) out_ += "# EOF\n";
}

}  // namespace sluice::telemetry
