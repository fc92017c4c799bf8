#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/network_table.h"
#include "match/hash_ranges.h"
#include "match/literal_index.h"
#include "match/match_input.h"
#include "rules/model.h"

namespace sluice::match {

/// Finds the few rules of many that a call may match. Each rule stands under what its conditions
/// demand and fewest other rules demand too: the exact values of one or several attributes, text
/// that a glob or a regular expression needs, or networks. Rules that demand nothing of the kind
/// are looked at for every call.
///
/// Never leaves out a rule that the call matches. Immutable and thread-safe.
class RuleIndex {
 public:
  RuleIndex() = default;
  /// Rules are known by their place in the list. The slots must be complete.
  RuleIndex(std::span<const rules::Rule* const> rules, const Slots& slots);

  /// Appends to `found` in no order, some perhaps twice. Rules of `always` are not among them.
  void Find(MatchInput& call, std::vector<std::uint32_t>& found) const;

  /// Rules to look at for every call, in order.
  [[nodiscard]] std::span<const std::uint32_t> always() const { return always_; }

 private:
  friend class RuleIndexBuilder;

  void HashValues(MatchInput& call) const;
  void FindByValues(const MatchInput& call, std::vector<std::uint32_t>& found) const;
  /// The same for the endpoint's template instead of its path.
  void FindByTemplate(MatchInput& call, std::vector<std::uint32_t>& found) const;
  void FindTogether(const MatchInput& call, const std::vector<Slot>& slots,
                    std::vector<std::uint32_t>& found) const;

  /// How values of an attribute take part.
  struct SlotUse {
    bool hashed = false;    ///< In any exact look-up.
    bool single = false;    ///< Rules stand under its values alone.
    bool folded = false;    ///< Case is ignored by some rule, so it is in the hash.
    bool literals = false;  ///< `literals_` has an index for it.
    bool folded_literals = false;
  };

  std::vector<SlotUse> slots_;
  std::vector<LiteralIndex> literals_;         ///< By slot.
  std::vector<LiteralIndex> folded_literals_;  ///< Of patterns that ignore case.
  HashRanges by_values_;
  /// Attributes under whose values together rules stand: with and without the endpoint.
  std::vector<std::vector<Slot>> together_;
  std::vector<std::vector<Slot>> with_endpoint_;
  NetworkTable networks_;
  std::vector<std::uint32_t> rule_of_network_;
  std::vector<std::uint32_t> always_;
};

}  // namespace sluice::match
