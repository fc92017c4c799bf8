#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "match/attributes.h"
#include "rules/model.h"

namespace sluice::match::testing {

/// Rule files and calls by chance, from few values, so that calls often meet rules and as often
/// miss them by little.
class RandomRules {
 public:
  explicit RandomRules(std::uint64_t seed) : random_(seed) {}

  rules::RuleFile File(std::size_t max_rules);

  /// What a call has: names and values.
  using Values = std::vector<std::pair<std::string, std::string>>;
  Values Call(const rules::RuleFile& file);

  std::int64_t OwnCost() {
    return OneIn(8) ? 0 : OneIn(20) ? -1 : static_cast<std::int64_t>(1 + Below(5));
  }

  /// A time of a call: schedules of rules begin and end at the same few times.
  WallTime Time() { return WallTime(std::chrono::seconds(Below(kTimes))); }

  std::size_t Below(std::size_t n) { return random_() % n; }
  bool OneIn(std::size_t n) { return Below(n) == 0; }

 private:
  template <typename T>
  const T& OneOf(const std::vector<T>& choices) {
    return choices[Below(choices.size())];
  }

  std::string Key();
  std::string Ip();
  std::string Endpoint();
  std::string Method();
  std::string Host();
  std::string Tier();
  std::string Value(const std::string& attribute);

  std::string GlobLike(std::string value);
  rules::Pattern KeyPattern();
  rules::Pattern Text(const std::string& attribute);
  rules::Pattern Any(const std::string& attribute);
  std::string Regex();
  std::string Cidr();
  rules::Condition OneCondition();
  rules::Limits SomeLimits(const std::vector<std::string>& names);
  rules::LimitVariants SomeVariants(const std::vector<std::string>& names);
  rules::Cost SomeCost();
  rules::Schedule SomeSchedule();
  void AddRollout(rules::Rule& rule, const std::vector<std::string>& names);
  void AddSchedules(rules::Rule& rule, const std::vector<std::string>& names);
  rules::Rule OneRule(std::size_t number);

  static constexpr std::size_t kTimes = 6;

  std::mt19937_64 random_;
};

/// The values as a call's attributes, which point into them.
std::vector<Attribute> AsAttributes(const RandomRules::Values& values);

}  // namespace sluice::match::testing
