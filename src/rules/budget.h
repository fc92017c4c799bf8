#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rules/call.h"
#include "rules/model.h"

namespace sluice::rules {

/// Whose budget a call draws on, under one rule.
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
  Budget(const Rule& rule, Slots& slots);

  /// False if the call lacks an attribute. `tier` is what the rule takes the call for. What must be
  /// put together is appended to `text`.
  bool Find(const Call& call, std::string_view tier, std::string& text, Whose& whose) const;

 private:
  bool FindClient(const Call& call, std::string_view tier, std::string& text, Whose& whose) const;

  std::string_view rule_id_;
  bool client_;             ///< The API key, or without one the address.
  Slot first_ = kNoSlot;    ///< Of `per`; kNoSlot: the client, or all calls.
  Slot tag_ = kNoSlot;      ///< With `client_` kNoSlot: the client itself.
  std::vector<Slot> rest_;  ///< `per` without the tag.
};

}  // namespace sluice::rules
