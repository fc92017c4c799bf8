#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

#include "match/entry_effects.h"
#include "match/entry_set.h"
#include "match/rule_set.h"
#include "simulate/trace_row.h"
#include "store/memory/memory_store.h"

namespace sluice::simulate {

/// Why a call passed or did not.
enum class Reason : std::uint8_t {
  kAllowList,
  kDenyList,
  kLimits,        ///< The combined decision of its limits.
  kNoRule,        ///< No rule matched: the file's `default`.
  kCostRefused,   ///< Its cost is invalid.
  kNotEvaluated,  ///< The store had no room, and one of its rules says `when_full: closed`; or the
                  ///< call had too many limits or too long a key, and passes unless one of its
                  ///< rules says `on_store_failure: closed`.
  kBlockEntry,    ///< A live entry blocks it.
  kAllowEntry,    ///< A live entry admits it.
};
inline constexpr std::size_t kReasons = 8;

/// The decision on one call.
struct SimulatedDecision {
  bool allowed = false;
  Reason reason = Reason::kLimits;
  /// Denied by limits, or refused: the first that did it.
  const rules::Rule* rule = nullptr;
  const rules::NamedLimit* limit = nullptr;
};

/// The treatment of calls of unknown duration by concurrency limits.
enum class UnknownDuration : std::uint8_t {
  kUntilTtl,  ///< It holds its slot until the time to live is over.
  kLeaveOut,  ///< The limit does not apply to it.
};

struct ReplayOptions {
  std::size_t max_keys = 10'000'000;  ///< Of the store.
  UnknownDuration unknown_duration = UnknownDuration::kUntilTtl;
  /// Of calls sampled by caller: one caller in so many is there, so budgets that callers share have
  /// this part of their numbers.
  std::uint32_t share_divisor = 1;
  /// Callers are identified by their address, because no call has an API key.
  bool addresses_are_callers = false;
  /// Live entries that are consulted before the rules; null: none.
  std::shared_ptr<const match::EntrySet> entries{};
};

/// Rules and a store of their own, in the caller's time: calls get the decisions that they would
/// have got. For one thread at a time.
class Replay {
 public:
  static Result<std::unique_ptr<Replay>> Create(std::shared_ptr<const match::RuleSet> rules,
                                                const ReplayOptions& options = {});

  /// `now` must not go back.
  SimulatedDecision Evaluate(const TraceRow& row, WallTime now);
  /// Decides another call that is equal to the one before, at the same time.
  SimulatedDecision Repeat(const TraceRow& row, WallTime now) { return Decide(row, now); }

  [[nodiscard]] const match::RuleSet& rules() const { return *rules_; }

  // ---- About the last call.

  [[nodiscard]] const match::Match& match() const { return match_; }
  /// Whether a matched limit denied the call; of a shadow rule: would have. For calls of kLimits.
  [[nodiscard]] bool Denies(std::size_t matched_limit) const;
  /// Of a limit that denies: whether no wait would help.
  [[nodiscard]] bool NeverFits(std::size_t matched_limit) const;

  // ---- About all calls.

  /// Slots of concurrency limits that were taken by calls of unknown duration.
  [[nodiscard]] std::uint64_t unending_slots() const { return unending_slots_; }
  /// Matched concurrency limits that were left out, since durations were unknown.
  [[nodiscard]] std::uint64_t limits_left_out() const { return limits_left_out_; }

 private:
  /// A slot of a concurrency limit whose call is under way.
  struct Slot {
    WallTime end;
    std::uint64_t id;
    Limit limit;
    std::string scope, tag, rest;
  };
  struct LaterEnd {
    bool operator()(const Slot& a, const Slot& b) const { return a.end > b.end; }
  };

  Replay(std::shared_ptr<const match::RuleSet> rules, std::unique_ptr<store::MemoryStore> store,
         const ReplayOptions& options);

  SimulatedDecision Decide(const TraceRow& row, WallTime now);
  SimulatedDecision DecideLimits(const TraceRow& row, WallTime now);
  std::optional<SimulatedDecision> DecideByEntries() const;
  /// The live entry that changes a matched limit; null: none.
  [[nodiscard]] const match::LiveEntry* AdjustmentOf(const match::MatchedLimit& matched) const;
  [[nodiscard]] bool IsShared(const match::MatchedLimit& matched) const;
  const Limit* LimitOf(const match::MatchedLimit& matched);
  std::optional<ErrorCode> Submit(WallTime now, bool rejected);
  void KeepSlots(const TraceRow& row, WallTime now);
  void EndCalls(WallTime now);

  std::shared_ptr<const match::RuleSet> rules_;
  std::unique_ptr<store::MemoryStore> store_;
  const ReplayOptions options_;
  match::Match match_;
  match::EntryMatches entries_;
  std::vector<bool> never_denies_;  ///< Of each matched limit: a live entry says so.
  std::vector<Limit> adjusted_;     ///< Limits of uses with the numbers of live entries.
  std::vector<store::KeyUse> uses_;
  std::vector<match::MatchedLimit> matched_of_uses_;
  /// Of each matched limit: its use, or none if it rejects all or was left out.
  std::vector<const store::KeyUse*> use_of_;
  std::unordered_map<const rules::NamedLimit*, Limit> scaled_limits_;
  std::priority_queue<Slot, std::vector<Slot>, LaterEnd> slots_;
  std::uint64_t unending_slots_ = 0;
  std::uint64_t limits_left_out_ = 0;
};

}  // namespace sluice::simulate
