#include "match/rule_index_builder.h"

#include <algorithm>
#include <map>

#include "base/text_hash.h"
#include "match/value_hash.h"

namespace sluice::match {
namespace {

// With so few others a rule stands well; looking further would cost every call a look-up more.
constexpr std::uint32_t kSmallCrowd = 4;
// Under how many combinations of values one rule may stand.
constexpr std::size_t kMaxCombinations = 64;
// Each set of attributes that values are looked up by together costs every call a look-up.
constexpr std::size_t kMaxTogether = 16;

std::uint64_t HashLiteral(Slot slot, const Literal& literal) {
  return HashText(literal.text, (literal.ignore_case ? 0x3'0000'0000 : 0x1'0000'0000) + slot);
}

std::uint64_t HashNetwork(const Network& network) {
  return MixHash(network.base.high ^ 0x8EBC6AF09C88C6E3, network.base.low + network.prefix);
}

std::vector<Slot> SlotsOf(const RuleDemands& demands, std::span<const std::size_t> which) {
  std::vector<Slot> slots;
  for (const std::size_t i : which) slots.push_back(demands.values[i].slot);
  return slots;
}

}  // namespace

RuleIndexBuilder::RuleIndexBuilder(std::span<const rules::Rule* const> rules, const Slots& slots) {
  index_.slots_.resize(slots.size());
  wanted_.resize(slots.size());
  demands_.reserve(rules.size());
  for (const rules::Rule* rule : rules) {
    RuleDemands& demands = demands_.emplace_back(DemandsOf(*rule, slots));
    std::sort(demands.values.begin(), demands.values.end(),
              [](const ValueDemand& a, const ValueDemand& b) { return a.slot < b.slot; });
    for (const ValueDemand& demand : demands.values) {
      if (demand.ignore_case) index_.slots_[demand.slot].folded = true;
    }
  }
}

RuleIndex RuleIndexBuilder::Build() && {
  index_.literals_.resize(wanted_.size());
  index_.folded_literals_.resize(wanted_.size());
  ChooseTogether();
  CountAll();
  for (std::uint32_t rule = 0; rule < demands_.size(); ++rule) {
    Put(rule, BestPlace(demands_[rule]));
  }
  index_.by_values_ = HashRanges(std::move(value_pairs_));
  for (Slot slot = 0; slot < wanted_.size(); ++slot) {
    const auto folded = std::stable_partition(
        wanted_[slot].begin(), wanted_[slot].end(),
        [](const LiteralIndex::Wanted& wanted) { return !wanted.literal.ignore_case; });
    index_.slots_[slot].folded_literals = folded != wanted_[slot].end();
    index_.folded_literals_[slot] =
        LiteralIndex({folded, wanted_[slot].end()}, LiteralIndex::Case::kFolds);
    wanted_[slot].erase(folded, wanted_[slot].end());
    index_.slots_[slot].literals = !wanted_[slot].empty();
    index_.literals_[slot] = LiteralIndex(std::move(wanted_[slot]));
  }
  index_.networks_ = NetworkTable(networks_);
  return std::move(index_);
}

std::uint64_t RuleIndexBuilder::HashValue(Slot slot, std::string_view value) const {
  return index_.slots_[slot].folded ? HashFolded(value) : HashText(value);
}

std::vector<std::uint64_t> RuleIndexBuilder::Keys(const RuleDemands& demands,
                                                  std::span<const std::size_t> which) const {
  std::vector<std::uint64_t> keys = {0};
  for (const std::size_t i : which) {
    const ValueDemand& demand = demands.values[i];
    std::vector<std::uint64_t> longer;
    for (const std::uint64_t key : keys) {
      for (const std::string& value : demand.values) {
        longer.push_back(AddToHash(key, demand.slot, HashValue(demand.slot, value)));
      }
    }
    keys = std::move(longer);
  }
  return keys;
}

// As many demands as give few combinations, those with the fewest values first.
std::vector<std::size_t> RuleIndexBuilder::Together(const RuleDemands& demands) {
  std::vector<std::size_t> which(demands.values.size());
  for (std::size_t i = 0; i < which.size(); ++i) which[i] = i;
  std::sort(which.begin(), which.end(), [&](std::size_t a, std::size_t b) {
    return demands.values[a].values.size() < demands.values[b].values.size();
  });
  std::size_t combinations = 1;
  std::size_t kept = 0;
  while (kept < which.size()) {
    combinations *= demands.values[which[kept]].values.size();
    if (combinations > kMaxCombinations) break;
    ++kept;
  }
  which.resize(kept);
  std::sort(which.begin(), which.end());
  return which;
}

void RuleIndexBuilder::ChooseTogether() {
  std::map<std::vector<Slot>, std::size_t> rules;
  for (const RuleDemands& demands : demands_) {
    const auto slots = SlotsOf(demands, Together(demands));
    if (slots.size() > 1) ++rules[slots];
  }
  std::vector<std::pair<std::size_t, std::vector<Slot>>> by_use;
  for (const auto& [slots, count] : rules) by_use.emplace_back(count, slots);
  std::sort(by_use.begin(), by_use.end(), std::greater<>());
  for (std::size_t i = 0; i < std::min(by_use.size(), kMaxTogether); ++i) {
    together_.insert(by_use[i].second);
  }
}

void RuleIndexBuilder::CountAll() {
  for (const RuleDemands& demands : demands_) {
    for (std::size_t i = 0; i < demands.values.size(); ++i) {
      for (const std::uint64_t key : Keys(demands, {&i, 1})) ++count_[key];
    }
    const auto together = Together(demands);
    if (together_.contains(SlotsOf(demands, together))) {
      for (const std::uint64_t key : Keys(demands, together)) ++count_[key];
    }
    for (const TextDemand& demand : demands.texts) {
      for (const auto& choices : demand.patterns) {
        for (const Literals& literals : choices) {
          for (const Literal& literal : literals) ++count_[HashLiteral(demand.slot, literal)];
        }
      }
    }
    for (const NetworkDemand& demand : demands.networks) {
      for (const Network& network : demand.networks) ++count_[HashNetwork(network)];
    }
  }
}

std::uint32_t RuleIndexBuilder::Crowd(std::span<const std::uint64_t> keys) const {
  std::uint32_t crowd = 0;
  for (const std::uint64_t key : keys) crowd = std::max(crowd, count_.at(key));
  return crowd;
}

RuleIndexBuilder::Place RuleIndexBuilder::BestPlace(const RuleDemands& demands) const {
  Place best;
  for (std::size_t i = 0; i < demands.values.size(); ++i) TryValues(demands, {i}, best);
  if (best.crowd <= kSmallCrowd) return best;
  auto together = Together(demands);
  if (together_.contains(SlotsOf(demands, together))) {
    TryValues(demands, std::move(together), best);
  }
  for (const TextDemand& demand : demands.texts) TryText(demand, best);
  for (const NetworkDemand& demand : demands.networks) TryNetwork(demand, best);
  return best;
}

void RuleIndexBuilder::TryValues(const RuleDemands& demands, std::vector<std::size_t> which,
                                 Place& best) const {
  const std::uint32_t crowd = Crowd(Keys(demands, which));
  if (crowd >= best.crowd) return;
  best = {.crowd = crowd, .values = std::move(which), .literals = {}};
}

void RuleIndexBuilder::TryText(const TextDemand& demand, Place& best) const {
  Place place{.crowd = 0, .values = {}, .literals = {}, .text = &demand};
  for (const TextDemand::Choices& choices : demand.patterns) {
    const Literals* rarest = nullptr;
    std::uint32_t least = 0;
    for (const Literals& literals : choices) {
      std::vector<std::uint64_t> keys;
      for (const Literal& literal : literals) keys.push_back(HashLiteral(demand.slot, literal));
      const std::uint32_t crowd = Crowd(keys);
      if (rarest == nullptr || crowd < least) {
        rarest = &literals;
        least = crowd;
      }
    }
    place.literals.push_back(rarest);
    place.crowd = std::max(place.crowd, least);
  }
  if (place.crowd < best.crowd) best = std::move(place);
}

void RuleIndexBuilder::TryNetwork(const NetworkDemand& demand, Place& best) const {
  std::vector<std::uint64_t> keys;
  for (const Network& network : demand.networks) keys.push_back(HashNetwork(network));
  const std::uint32_t crowd = Crowd(keys);
  if (crowd >= best.crowd) return;
  best = {.crowd = crowd, .values = {}, .literals = {}, .network = &demand};
}

void RuleIndexBuilder::Put(std::uint32_t rule, const Place& place) {
  if (!place.values.empty()) {
    const auto slots = SlotsOf(demands_[rule], place.values);
    for (const std::uint64_t key : Keys(demands_[rule], place.values)) {
      value_pairs_.emplace_back(key, rule);
    }
    for (const Slot slot : slots) index_.slots_[slot].hashed = true;
    if (slots.size() == 1) {
      index_.slots_[slots.front()].single = true;
    } else {
      const bool endpoint = std::find(slots.begin(), slots.end(), kEndpointSlot) != slots.end();
      auto& sets = endpoint ? index_.with_endpoint_ : index_.together_;
      if (std::find(sets.begin(), sets.end(), slots) == sets.end()) sets.push_back(slots);
    }
  } else if (place.text != nullptr) {
    for (const Literals* literals : place.literals) {
      for (const Literal& literal : *literals) {
        wanted_[place.text->slot].push_back({literal, rule});
      }
    }
  } else if (place.network != nullptr) {
    for (const Network& network : place.network->networks) {
      networks_.push_back(network);
      index_.rule_of_network_.push_back(rule);
    }
  } else {
    index_.always_.push_back(rule);
  }
}

}  // namespace sluice::match
