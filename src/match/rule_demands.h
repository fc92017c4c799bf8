#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/network.h"
#include "match/literal_index.h"
#include "match/match_input.h"
#include "rules/model.h"

namespace sluice::match {

/// The attribute has one of these values.
struct ValueDemand {
  Slot slot = kNoSlot;
  std::vector<std::string> values;
  bool ignore_case = false;
};

/// The attribute has, for one of these patterns, one literal out of each of its lists.
struct TextDemand {
  using Choices = std::vector<std::vector<Literal>>;  ///< Any of the lists will do for finding it.
  Slot slot = kNoSlot;
  std::vector<Choices> patterns;
};

/// The address is in one of these networks.
struct NetworkDemand {
  std::vector<Network> networks;
};

/// Necessary conditions for a call to match a rule, as far as an index can use them. They hold for
/// every call that matches the rule.
struct RuleDemands {
  std::vector<ValueDemand> values;
  std::vector<TextDemand> texts;
  std::vector<NetworkDemand> networks;
};

[[nodiscard]] RuleDemands DemandsOf(const rules::Rule& rule, const Slots& slots);

/// True if the rule requires certain API keys: then it takes calls with an unknown tier for
/// calls of its own tier.
[[nodiscard]] bool HasKeyPattern(const rules::Rule& rule);

}  // namespace sluice::match
