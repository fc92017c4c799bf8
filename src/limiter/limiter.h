#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/labels.h"
#include "base/live.h"
#include "limiter/check_request.h"
#include "limiter/decision_counters.h"
#include "match/entry_effects.h"
#include "match/entry_set.h"
#include "match/rule_set.h"
#include "store/key_census.h"
#include "store/store.h"

namespace sluice::lease {
class LeaseTable;
}

namespace sluice::limiter {

enum class Enforcement : std::uint8_t {
  kOn,
  kShadow,  ///< Every limit is evaluated and counted, the callers' own too; none denies.
  kOff,     ///< No limit is looked at, not even the callers' own. Lists still count.
};

constexpr std::array<std::string_view, 3> LabelsOf(Enforcement /*any*/) {
  return {"on", "shadow", "off"};
}

/// How long a check took: in all, and of that until the store had answered.
struct TimesTaken {
  std::chrono::nanoseconds whole;
  std::chrono::nanoseconds store;
};

/// Observes how long checks take. Only those that it samples are measured: to read a clock takes as
/// long as a check.
class Observer {
 public:
  virtual bool SamplesThis() = 0;
  virtual void Took(const CheckRequest& check, const TimesTaken& times) = 0;

 protected:
  ~Observer() = default;
};

/// Settings shared by the limiters of a process.
struct Settings {
  std::atomic<Enforcement> enforcement{Enforcement::kOn};
  /// Processes that share the store, this one included: each gets its share of local limits.
  std::atomic<std::uint32_t> servers{1};
  /// How far the store's clock is ahead of this machine's: schedules of rules go by the store's.
  std::atomic<Micros> store_clock_ahead{Micros(0)};
  /// For calls of one address that only open rules would allow while the store fails.
  /// Doesn't change once there are limiters.
  std::optional<Limit> emergency{};
  /// Whether the store is bounded and answers at once: keys without room may share a budget.
  bool bounded_store = false;
  /// Bounds the keys that callers' limits make in a store that is not bounded; null: nothing does.
  store::KeyCensus* caller_keys = nullptr;
};

/// Whether an operation is decided as calls are: a check, or a peek at one.
[[nodiscard]] constexpr bool Takes(store::Operation operation) {
  return operation == store::Operation::kCheck || operation == store::Operation::kPeek;
}

/// Decides calls by the rules in force. One for each thread, as is the reader of the rules; the
/// store may be shared. It holds nothing but references: cheap to make.
///
/// Where a bounded store has no room for a key, the rule's `when_full` decides (when_full.h).
///
/// Rules that say `on_store_failure: local` are decided by `fallback` while the store fails,
/// with their emergency limit or else their share of their own (share.h); without a fallback, they
/// are open. Open rules let pass what the emergency limit of the settings allows, if there is one.
class Limiter {
 public:
  /// All must outlive the limiter, and it must outlive its checks. `fallback` may be null; it
  /// must answer at once.
  Limiter(store::Store& store, store::Store* fallback, LiveReader<match::RuleSet>& rules,
          const Settings& settings)
      : store_(store), fallback_(fallback), rules_(rules), settings_(settings) {}

  /// Sets the observer (nullable, not owned). It must outlive the limiter.
  void Observe(Observer* observer) { observer_ = observer; }

  /// From now on, what `leases` last knew to be left is where the fallback begins, instead of full.
  /// Null: nothing is known. It must outlive the limiter.
  void StartLocalFrom(lease::LeaseTable* leases) { leases_ = leases; }
  /// Consults live entries before the rules, and counts those that change a decision. Both must
  /// outlive the limiter.
  void Consult(LiveReader<match::EntrySet>& entries, EntryCounters& counters) {
    entries_ = &entries;
    entry_counters_ = &counters;
  }
  /// Finds the live entries of a call that its protocol matches by itself. Valid until the next
  /// call; `entries_in_use` owns them.
  [[nodiscard]] match::FoundEntries FindEntries(match::Attributes attributes, WallTime now);
  [[nodiscard]] AnySnapshot entries_in_use() const { return entries_->current(); }
  /// Counts an entry that changed the decision about a call.
  void NoteEntry(const match::LiveEntry& live, WallTime now) {
    live.NoteUse(now);
    entry_counters_->hits[live.entry.effect].Add();
  }

  /// The rules of checks without limits of their own.
  [[nodiscard]] LiveReader<match::RuleSet>& rules() { return rules_; }

  /// The time that schedules of rules are compared with: the store's, as far as it is known.
  [[nodiscard]] WallTime RuleTime(WallTime now) const {
    // Relaxed: any recent value will do.
    return now + settings_.store_clock_ahead.load(std::memory_order_relaxed);
  }

  /// kNow: the answer is there. kLater: `on_done` will be run, never before this returns. The check
  /// owns the rules and limits that its answer points to, until it is cleared or asked again.
  store::Completion Decide(CheckRequest& check, WallTime now);

  static constexpr std::size_t kMostAtOnce = 16;
  /// Asks checks that are independent of each other, at most kMostAtOnce: as if one after the
  /// other, but faster, and by the same rules. Those that are not answered when it returns are
  /// `pending()`.
  void DecideBatch(std::span<CheckRequest* const> checks, WallTime now);

 private:
  bool Begin(CheckRequest& check, const Snapshot<match::RuleSet>& rules, WallTime now);
  store::Completion End(CheckRequest& check, store::Completion answered);
  bool MatchRules(CheckRequest& check, const match::RuleSet* rules, WallTime now);
  bool AddOwnLimits(CheckRequest& check, WallTime now);
  store::KeyUse& AddUse(CheckRequest& check, const match::MatchedLimit& matched, Mode mode);
  bool IsBlocked(CheckRequest& check, match::FoundEntries found, WallTime now);
  bool IsExempted(CheckRequest& check, match::FoundEntries found, WallTime now);
  bool AddMatchedUses(CheckRequest& check, match::FoundEntries found, WallTime now);
  bool IsCallerKeyBlocked(CheckRequest& check, WallTime now);
  enum class EntryStep : std::uint8_t { kGoOn, kExempted, kBlocked };
  EntryStep ApplyToOwn(CheckRequest& check, const CheckRequest::OwnLimit& own, store::KeyUse& use,
                       WallTime now);
  void Adjust(CheckRequest& check, match::FoundEntries found, const match::EntryTarget& target,
              store::KeyUse& use, WallTime now);
  bool Block(CheckRequest& check, const match::LiveEntry* block, WallTime now);
  void Note(const CheckRequest& check, const match::LiveEntry& live, WallTime now);
  bool DeniedByRejection(CheckRequest& check);
  void Conclude(CheckRequest& check);
  void Evaluate(CheckRequest& check);
  void DecideByFallback(CheckRequest& check, std::span<const std::size_t> local);
  void LowerToLastKnown(const store::KeyUse& share, const Limit& whole, WallTime now);
  void ApplyEmergencyLimit(CheckRequest& check, std::size_t open);
  void Degrade(CheckRequest& check);
  void AnswerFull(CheckRequest& check);
  void DenyWithoutRoom(CheckRequest& check, std::size_t index);
  bool AdmitCallerKeys(CheckRequest& check, WallTime now);
  void CountCallerKeys(const CheckRequest& check) const;

  store::Store& store_;
  store::Store* fallback_;
  LiveReader<match::RuleSet>& rules_;
  const Settings& settings_;
  Observer* observer_ = nullptr;
  lease::LeaseTable* leases_ = nullptr;
  LiveReader<match::EntrySet>* entries_ = nullptr;  ///< Null: there are none.
  EntryCounters* entry_counters_ = nullptr;
  match::EntryMatches entry_matches_;
};

}  // namespace sluice::limiter
