#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "rules/rule_set.h"
#include "store/memory/memory_store.h"
#include "trace_row.h"

namespace sluice::app {

/// What one limit of a rule said. `met` = allowed + denied.
struct LimitTally {
  std::string name;
  std::uint64_t met = 0;
  std::uint64_t denied = 0;      ///< Of a shadow rule: would have been.
  std::uint64_t never_fits = 0;  ///< Of those denied: whatever the wait, because of their cost.
  std::int64_t taken = 0;        ///< Costs of the calls that passed.
};

/// How often each key was denied by a rule.
using DeniedKeys = std::unordered_map<std::string, std::uint64_t>;

struct RuleTally {
  const rules::Rule* rule = nullptr;
  std::uint64_t met = 0;
  std::uint64_t denied = 0;        ///< By one of its limits at least.
  std::uint64_t lacking = 0;       ///< Not met only because an attribute of `per` was missing.
  std::uint64_t cost_refused = 0;  ///< Calls whose cost made no sense to this rule.
  std::vector<LimitTally> limits;
  DeniedKeys denied_keys;  ///< Named as a reader knows them: "api_key=sk_1".
};

/// Why a call passed or did not.
enum class Reason : std::uint8_t {
  kAllowList,
  kDenyList,
  kLimits,       ///< What its limits said, together.
  kNoRule,       ///< No rule was met: the file's `default`.
  kCostRefused,  ///< What it sent as a cost makes no sense.
  kNotJudged,  ///< The store had no room, or the call too many limits or too long a key: it passes
               ///< unless one of its rules says `on_store_failure: closed`.
};
inline constexpr std::size_t kReasons = 6;

/// One call, judged.
struct Judgement {
  bool allowed = false;
  Reason reason = Reason::kLimits;
  /// Denied by limits, or refused: the first that did it.
  const rules::Rule* rule = nullptr;
  const rules::NamedLimit* limit = nullptr;
};

struct SimulationTally {
  std::uint64_t calls = 0;
  std::uint64_t allowed = 0;
  std::uint64_t by_reason[kReasons] = {};
  std::uint64_t no_rule_denied = 0;  ///< Of those of kNoRule.
  std::vector<RuleTally> rules;      ///< All of the file, in its order.
  /// Slots of concurrency limits that were taken by calls of which nobody knows how long they took.
  std::uint64_t unending_slots = 0;
  std::uint64_t keys_not_told = 0;  ///< Denials of keys beyond those that are remembered.

  [[nodiscard]] std::uint64_t denied() const { return calls - allowed; }
  [[nodiscard]] std::uint64_t Of(Reason reason) const {
    return by_reason[static_cast<std::size_t>(reason)];
  }
};

struct SimulationOptions {
  std::size_t max_keys = 10'000'000;      ///< Of the store.
  std::size_t max_denied_keys = 500'000;  ///< Remembered by name, over all rules.
};

/// Rules and a store of their own, in a time that the caller tells: the calls of a trace get the
/// answers that they would have got.
class Simulation {
 public:
  static Result<std::unique_ptr<Simulation>> Create(std::shared_ptr<const rules::RuleSet> rules,
                                                    const SimulationOptions& options = {});

  /// `now` must not go back.
  Judgement Judge(const TraceRow& row, WallTime now);

  [[nodiscard]] const SimulationTally& tally() const { return tally_; }
  [[nodiscard]] const rules::RuleSet& rules() const { return *rules_; }

 private:
  /// A slot of a concurrency limit whose call is under way.
  struct Slot {
    WallTime end;
    std::uint64_t id;
    const Limit* limit;
    std::string scope, tag, rest;
  };
  struct LaterEnd {
    bool operator()(const Slot& a, const Slot& b) const { return a.end > b.end; }
  };

  Simulation(std::shared_ptr<const rules::RuleSet> rules, std::unique_ptr<store::MemoryStore> store,
             const SimulationOptions& options);

  Judgement Decide(const TraceRow& row, WallTime now);
  Judgement AskStore(const TraceRow& row, WallTime now);
  bool Submit(WallTime now, bool rejected);
  void CountLimits(bool allowed);
  void CountDeniedKey(RuleTally& rule, const rules::MetLimit& met);
  void KeepSlots(const TraceRow& row, WallTime now);
  void EndCalls(WallTime now);
  RuleTally& TallyOf(const rules::Rule* rule);

  std::shared_ptr<const rules::RuleSet> rules_;
  std::unique_ptr<store::MemoryStore> store_;
  std::size_t denied_keys_left_;
  SimulationTally tally_;
  rules::Match match_;
  std::vector<store::Use> uses_;
  /// Of each met limit: its use, or none if it rejects all.
  std::vector<const store::Use*> use_of_;
  std::priority_queue<Slot, std::vector<Slot>, LaterEnd> slots_;
  std::string key_name_;
};

/// Whose budget a key is, as "user=alice, model=gpt-4"; "everyone" if it is one for all.
void AppendOwner(const rules::Rule& rule, const Key& key, std::string& out);

}  // namespace sluice::app
