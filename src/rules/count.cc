#include "rules/count.h"

#include <algorithm>
#include <cstdio>

#include <sluice/limit.h>

#include "base/wide_math.h"

namespace sluice::rules {
namespace {

const UsedQuantity* Find(std::span<const UsedQuantity> used, std::string_view quantity) {
  const auto found = std::find_if(used.begin(), used.end(),
                                  [&](const UsedQuantity& each) { return each.name == quantity; });
  return found == used.end() ? nullptr : &*found;
}

const CountTier& TierOf(const Count& count, std::span<const UsedQuantity> used) {
  const CountTier* tier = &count.tiers.front();
  if (count.tiers.size() == 1) return *tier;
  const std::int64_t context = ContextTokens(used);
  for (const CountTier& each : count.tiers) {
    if (each.above == 0 || context > each.above) tier = &each;
  }
  return *tier;
}

bool HasWeight(const CountTier& tier, std::string_view quantity) {
  return std::any_of(tier.weights.begin(), tier.weights.end(),
                     [&](const Weight& weight) { return weight.quantity == quantity; });
}

}  // namespace

std::int64_t ContextTokens(std::span<const UsedQuantity> used) {
  Wide sum = 0;
  for (const std::string_view part : {"input_tokens", "cached_tokens", "cache_write_tokens"}) {
    if (const UsedQuantity* const quantity = Find(used, part)) sum += quantity->amount;
  }
  return static_cast<std::int64_t>(std::min(sum, Wide{kMaxAmount}));
}

CountResult Sum(const Count& count, std::span<const UsedQuantity> used) {
  if (count.tiers.empty()) return {};
  const CountTier& tier = TierOf(count, used);
  Wide sum = 0;
  for (const Weight& weight : tier.weights) {
    if (const UsedQuantity* const quantity = Find(used, weight.quantity)) {
      sum += Wide{quantity->amount} * weight.weight;
    } else if (weight.quantity == kRequests) {
      sum += weight.weight;
    } else if (weight.is_required && weight.weight != 0) {
      return {.error = CountError::kMissing, .quantity = weight.quantity};
    }
  }
  if (count.is_price) {
    for (const UsedQuantity& quantity : used) {
      if (quantity.amount != 0 && quantity.name != kRequests && !HasWeight(tier, quantity.name)) {
        return {.error = CountError::kNoPrice, .quantity = quantity.name};
      }
    }
  }
  if (sum > kMaxAmount) return {.amount = kMaxAmount, .error = CountError::kTooLarge};
  return {.amount = static_cast<std::int64_t>(sum)};
}

Count CountOf(std::string_view quantity) {
  return {.tiers = {{.above = 0, .weights = {{.quantity = std::string(quantity)}}}}};
}

std::string TextOf(const Count& count, std::int64_t scale) {
  std::string text;
  for (const CountTier& tier : count.tiers) {
    if (tier.above > 0) text += "; above " + std::to_string(tier.above) + ": ";
    bool is_first = true;
    for (const Weight& weight : tier.weights) {
      if (!is_first) text += " + ";
      is_first = false;
      if (weight.weight != scale) {
        std::array<char, 32> number;
        std::snprintf(number.data(), number.size(), "%.9g ",
                      static_cast<double>(weight.weight) / static_cast<double>(scale));
        text += number.data();
      }
      text += weight.quantity;
    }
  }
  return text;
}

}  // namespace sluice::rules
