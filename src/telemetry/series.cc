#include "telemetry/series.h"

#include <utility>

#include "base/utf8.h"

namespace sluice::telemetry {

SeriesIds::SeriesIds(std::vector<std::string_view> labels, const std::vector<Values>& shared,
                     std::size_t max_series)
    : labels_(std::move(labels)), shared_(shared.size()), capacity_(shared_ + max_series) {
  for (const Values& values : shared) Intern(values);
}

Series SeriesIds::Intern(const Values& values, Series other) {
  Values names;
  std::string key;
  for (const std::string& value : values) {
    AppendAsUtf8(value, names.emplace_back());
    key += std::to_string(names.back().size()) + ':' + names.back();
  }
  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) return {found->second};
  if (names_.size() == capacity_) {
    ++overflowed_;
    return other;
  }
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.push_back(std::move(names));
  numbers_.emplace(std::move(key), number);
  return {number};
}

std::vector<SeriesIds::Values> SeriesIds::All() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::uint64_t SeriesIds::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

}  // namespace sluice::telemetry
