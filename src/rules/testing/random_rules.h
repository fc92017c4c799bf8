#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "rules/attributes.h"
#include "rules/model.h"

namespace sluice::rules::testing {

/// Rule files and calls by chance, from few values, so that calls often meet rules and as often
/// miss them by little.
class RandomRules {
 public:
  explicit RandomRules(std::uint64_t seed) : random_(seed) {}

  RuleFile File(std::size_t max_rules);

  /// What a call has: names and values.
  using Values = std::vector<std::pair<std::string, std::string>>;
  Values Call(const RuleFile& file);

  std::int64_t OwnCost() {
    return OneIn(8) ? 0 : OneIn(20) ? -1 : static_cast<std::int64_t>(1 + Below(5));
  }

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
  std::string Tier();
  std::string Value(const std::string& attribute);

  std::string GlobLike(std::string value);
  Pattern KeyPattern();
  Pattern Text(const std::string& attribute);
  Pattern Any(const std::string& attribute);
  std::string Regex();
  std::string Cidr();
  Condition OneCondition();
  Limits SomeLimits(const std::vector<std::string>& names);
  Variants SomeVariants(const std::vector<std::string>& names);
  Cost SomeCost();
  Rule OneRule(std::size_t number);

  std::mt19937_64 random_;
};

/// The values as a call's attributes, which point into them.
std::vector<Attribute> AsAttributes(const RandomRules::Values& values);

}  // namespace sluice::rules::testing
