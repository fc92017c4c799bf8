#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "match/match_input.h"
#include "rules/model.h"

namespace sluice::match {

/// The key's rest of calls that lack an attribute of `per`; its tag is the rule's id. Values are
/// percent-encoded and never empty, so that no other budget has this rest.
inline constexpr std::string_view kMissingRest = ":missing";

/// Determines the budget of a call under one rule.
struct Whose {
  std::string_view tag;
  /// The value that the rule's overrides are for; empty if it is for all calls.
  std::string_view owner;
  /// The key's rest: this, or if it is empty what was appended to the text, from `begin` on.
  std::string_view fixed_rest;
  std::size_t begin = 0;
};

/// Which attributes share one budget: what `per` and `hash_tag` say.
class Budget {
 public:
  Budget(const rules::Rule& rule, Slots& slots);

  /// False if the call lacks an attribute: then `whose` is the budget of all calls that do. `tier`
  /// is what the rule takes the call for. What must be put together is appended to `text`.
  bool Find(const MatchInput& call, std::string_view tier, std::string& text, Whose& whose) const;

  /// The value that a rollout of the rule tells callers apart by, as the budget is counted under
  /// it, so that one budget has one set of numbers. For calls that have all attributes of `per`.
  [[nodiscard]] std::string_view RolloutValue(const MatchInput& call, std::string_view tier) const;

 private:
  bool FindClient(const MatchInput& call, std::string_view tier, std::string& text,
                  Whose& whose) const;
  bool FindNamed(const MatchInput& call, std::string_view tier, std::string& text,
                 Whose& whose) const;

  std::string_view rule_id_;
  bool client_;             ///< The API key, or without one the address.
  Slot first_ = kNoSlot;    ///< Of `per`; kNoSlot: the client, or all calls.
  Slot by_ = kNoSlot;       ///< Of a rollout; kNoSlot: the client.
  Slot tag_ = kNoSlot;      ///< With `client_` kNoSlot: the client itself.
  std::vector<Slot> rest_;  ///< `per` without the tag.
};

}  // namespace sluice::match
