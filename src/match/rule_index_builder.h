#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "match/rule_demands.h"
#include "match/rule_index.h"

namespace sluice::match {

/// Decides under what each rule stands in the index: what it demands and fewest others do.
class RuleIndexBuilder {
 public:
  RuleIndexBuilder(std::span<const rules::Rule* const> rules, const Slots& slots);

  [[nodiscard]] RuleIndex Build() &&;

 private:
  using Literals = std::vector<Literal>;
  using Counts = std::unordered_map<std::uint64_t, std::uint32_t>;

  /// An index entry for a rule, and the maximum number of rules that share it.
  struct Place {
    std::uint32_t crowd = ~std::uint32_t{0};
    std::vector<std::size_t> values;        ///< Which demands of the rule, together.
    std::vector<const Literals*> literals;  ///< One list of each pattern.
    const TextDemand* text = nullptr;
    const NetworkDemand* network = nullptr;
  };

  void CountAll();
  void ChooseTogether();
  [[nodiscard]] std::uint64_t HashValue(Slot slot, std::string_view value) const;
  /// All combinations of the values that these demands allow.
  [[nodiscard]] std::vector<std::uint64_t> Keys(const RuleDemands& demands,
                                                std::span<const std::size_t> which) const;
  [[nodiscard]] static std::vector<std::size_t> Together(const RuleDemands& demands);
  [[nodiscard]] std::uint32_t Crowd(std::span<const std::uint64_t> keys) const;

  [[nodiscard]] Place BestPlace(const RuleDemands& demands) const;
  void TryValues(const RuleDemands& demands, std::vector<std::size_t> which, Place& best) const;
  void TryText(const TextDemand& demand, Place& best) const;
  void TryNetwork(const NetworkDemand& demand, Place& best) const;

  void Put(std::uint32_t rule, const Place& place);

  RuleIndex index_;
  std::vector<RuleDemands> demands_;
  Counts count_;  ///< How many rules demand a thing, by its hash.
  std::set<std::vector<Slot>> together_;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> value_pairs_;
  std::vector<std::vector<LiteralIndex::Wanted>> wanted_;  ///< By slot.
  std::vector<Network> networks_;
};

}  // namespace sluice::match
