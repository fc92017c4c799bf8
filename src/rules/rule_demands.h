#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/network.h"
#include "rules/call.h"
#include "rules/literal_index.h"
#include "rules/model.h"

namespace sluice::rules {

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

/// What a call must be like to meet a rule, as far as an index can use it. All of it holds for
/// every call that meets the rule.
struct RuleDemands {
  std::vector<ValueDemand> values;
  std::vector<TextDemand> texts;
  std::vector<NetworkDemand> networks;
};

[[nodiscard]] RuleDemands DemandsOf(const Rule& rule, const Slots& slots);

/// True if the rule asks for certain API keys: then it takes calls whose tier nobody knows for
/// calls of its own tier.
[[nodiscard]] bool HasKeyPattern(const Rule& rule);

}  // namespace sluice::rules
