#include "telemetry/rule_counters.h"

#include <new>

#include "telemetry/escape.h"

namespace sluice::telemetry {

RuleIds::RuleIds(std::size_t max_series) : capacity_(kLabels<Algorithm>.size() + max_series) {
  for (std::size_t i = 0; i < kLabels<Algorithm>.size(); ++i) {
    Intern(kOther, static_cast<Algorithm>(i));
  }
}

RuleSeries RuleIds::Intern(std::string_view rule, Algorithm algorithm) {
  std::string name;
  AppendUtf8(rule, name);
  std::string known_as = name;
  known_as += static_cast<char>(algorithm);  // One byte: no rule and algorithm look like another.

  const std::lock_guard lock(mutex_);
  const auto found = numbers_.find(known_as);
  if (found != numbers_.end()) return {found->second};
  if (names_.size() == capacity_) {
    ++overflowed_;
    return {static_cast<std::uint32_t>(algorithm)};  // "_other" came first, in this order.
  }
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.push_back({std::move(name), algorithm});
  numbers_.emplace(std::move(known_as), number);
  return {number};
}

std::vector<RuleIds::Name> RuleIds::Names() const {
  const std::lock_guard lock(mutex_);
  return names_;
}

std::uint64_t RuleIds::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

// calloc gives large pieces as pages that are zero and not yet there; new would touch them all.
RuleCounters::RuleCounters(const RuleIds& ids)
    : cells_(static_cast<std::uint64_t*>(  // NOLINTNEXTLINE(*-no-malloc)
          std::calloc(ids.capacity() * kColumns, sizeof(std::uint64_t)))) {
  if (cells_ == nullptr) throw std::bad_alloc();
}

}  // namespace sluice::telemetry
