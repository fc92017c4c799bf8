#pragma once

#include <random>
#include <string>

namespace sluice::rules::testing {

/// Makes rule files: rules r0, r1, … with random numbers and tiers t0, t1, …, in block and flow
/// style, with comments and either kind of line end.
class RandomDocument {
 public:
  explicit RandomDocument(unsigned seed) : random_(seed) {}

  /// Returns a document that `Read` accepts.
  std::string Make();
  /// Returns one rule with this id, in block or flow style, from column 1.
  std::string Rule(const std::string& id);
  /// Returns the value of one tier, in block or flow style, from column 1.
  std::string Tier();

  /// Returns a number from 0 to below `bound`.
  int Below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

 private:
  std::string Comment(const std::string& indent);
  std::string Rate();

  std::mt19937 random_;
};

}  // namespace sluice::rules::testing
