#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "match/rule_set.h"
#include "simulate/replay.h"
#include "simulate/trace_row.h"

namespace sluice::simulate {

/// The decisions of one limit of a rule. `matched` = allowed + denied.
struct LimitTally {
  std::string name;
  bool shadow = false;
  match::Cohort cohort = match::Cohort::kAll;
  std::uint64_t matched = 0;
  std::uint64_t denied = 0;      ///< In shadow: would have been.
  std::uint64_t never_fits = 0;  ///< Of those denied: whatever the wait, because of their cost.
  std::int64_t taken = 0;        ///< Costs of the calls that passed.
};

/// How often each key was denied by a rule.
using DeniedKeys = std::unordered_map<std::string, std::uint64_t>;

struct RuleTally {
  const rules::Rule* rule = nullptr;
  std::uint64_t matched = 0;
  std::uint64_t denied = 0;        ///< By one of its limits at least that is enforced, or of a
                                   ///< rule in shadow: that would be.
  std::uint64_t lacking = 0;       ///< Calls that lacked an attribute of `per`.
  std::uint64_t cost_refused = 0;  ///< Calls whose cost this rule refused.
  std::vector<LimitTally> limits;
  DeniedKeys denied_keys;  ///< Named as a reader knows them: "api_key=sk_1".
};

struct SimulationTally {
  std::uint64_t calls = 0;
  std::uint64_t allowed = 0;
  std::uint64_t by_reason[kReasons] = {};
  std::uint64_t no_rule_denied = 0;  ///< Of those of kNoRule.
  std::vector<RuleTally> rules;      ///< All of the file, in its order.
  /// Slots of concurrency limits that were taken by calls of unknown duration.
  std::uint64_t unending_slots = 0;
  std::uint64_t keys_not_listed = 0;  ///< Denials of keys beyond those that are remembered.

  [[nodiscard]] std::uint64_t denied() const { return calls - allowed; }
  [[nodiscard]] std::uint64_t Of(Reason reason) const {
    return by_reason[static_cast<std::size_t>(reason)];
  }
};

struct SimulationOptions {
  std::size_t max_keys = 10'000'000;                 ///< Of the store.
  std::size_t max_denied_keys = 500'000;             ///< Remembered by name, over all rules.
  std::shared_ptr<const match::EntrySet> entries{};  ///< Live entries; null: none.
};

/// A replay of a trace that counts its decisions by rule, limit and key.
class Simulation {
 public:
  static Result<std::unique_ptr<Simulation>> Create(std::shared_ptr<const match::RuleSet> rules,
                                                    const SimulationOptions& options = {});

  /// `now` must not go back.
  SimulatedDecision Evaluate(const TraceRow& row, WallTime now);

  [[nodiscard]] const SimulationTally& tally() const { return tally_; }
  [[nodiscard]] const match::RuleSet& rules() const { return replay_->rules(); }

 private:
  Simulation(std::unique_ptr<Replay> replay, const SimulationOptions& options);

  void Count(const SimulatedDecision& decision);
  void CountLimits(bool allowed);
  void CountDeniedKey(RuleTally& rule, const match::MatchedLimit& matched);
  RuleTally& TallyOf(const rules::Rule* rule);

  std::unique_ptr<Replay> replay_;
  std::size_t denied_keys_left_;
  SimulationTally tally_;
  std::string key_name_;
};

/// Whose budget a key is, as "user=alice, model=gpt-4"; "everyone" if it is one for all.
void AppendOwner(const rules::Rule& rule, const Key& key, std::string& out);

}  // namespace sluice::simulate
