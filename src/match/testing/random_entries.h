#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "match/attributes.h"
#include "match/entry.h"

namespace sluice::match::testing {

/// Entries and calls by chance, from few values, so that calls often match and as often miss by
/// little.
class RandomEntries {
 public:
  explicit RandomEntries(std::uint64_t seed) : random_(seed) {}

  Entry One();
  /// What a call has: names and values.
  using Values = std::vector<std::pair<std::string, std::string>>;
  Values Call();
  WallTime Time() { return WallTime(std::chrono::seconds(1000 + Below(20))); }

  std::size_t Below(std::size_t n) { return random_() % n; }
  bool OneIn(std::size_t n) { return Below(n) == 0; }

 private:
  std::string Value(const std::string& attribute);
  EntryCondition Condition(const std::string& attribute);

  std::mt19937_64 random_;
  std::size_t made_ = 0;
};

/// The entries in force that match a call, in the order of Precedes: looks at one after the other.
std::vector<const Entry*> PlainFind(const std::vector<Entry>& entries, Attributes attributes,
                                    WallTime now);

}  // namespace sluice::match::testing
