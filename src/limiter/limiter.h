#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <sluice/limit.h>
#include <sluice/time.h>

#include "limiter/question.h"
#include "rules/live_rules.h"
#include "store/store.h"

namespace sluice::lease {
class LeaseTable;
}

namespace sluice::limiter {

enum class Enforcement : std::uint8_t {
  kOn,
  kShadow,  ///< Every limit is judged and counted, the callers' own too; none denies.
  kOff,     ///< No limit is looked at, not even the callers' own. Lists still count.
};

/// "on", "shadow", "off".
[[nodiscard]] std::string_view NameOf(Enforcement enforcement);

/// How long a question took: in all, and of that until the store had answered.
struct TimesTaken {
  std::chrono::nanoseconds whole;
  std::chrono::nanoseconds store;
};

/// Whoever wants to know how long questions take. Only those that it chooses are measured: to read
/// a clock takes as long as a check.
class Observer {
 public:
  virtual bool SamplesThis() = 0;
  virtual void Took(const Question& question, const TimesTaken& times) = 0;

 protected:
  ~Observer() = default;
};

/// What the limiters of a process share.
struct Settings {
  std::atomic<Enforcement> enforcement{Enforcement::kOn};
  /// Processes that share the store, this one included: each gets its share of local limits.
  std::atomic<std::uint32_t> servers{1};
  /// For calls of one address that only open rules would let pass while the store can't tell.
  /// Doesn't change once there are limiters.
  std::optional<Limit> emergency{};
};

/// Decides calls by the rules in force. One for each thread, as is the reader of the rules; the
/// store may be shared. It holds nothing but references: cheap to make.
///
/// Rules that say `on_store_failure: local` are judged by `fallback` while the store can't tell,
/// with their emergency limit or else their share of their own (share.h); without a fallback, they
/// are open. Open rules let pass what the emergency limit of the settings allows, if there is one.
class Limiter {
 public:
  /// All must outlive the limiter, and it must outlive its questions. `fallback` may be null; it
  /// must answer at once.
  Limiter(store::Store& store, store::Store* fallback, rules::RulesReader& rules,
          const Settings& settings)
      : store_(store), fallback_(fallback), rules_(rules), settings_(settings) {}

  /// From now on; null: nobody. It must outlive the limiter.
  void Observe(Observer* observer) { observer_ = observer; }

  /// From now on, what `leases` last knew to be left is where the fallback begins, instead of full.
  /// Null: nothing is known. It must outlive the limiter.
  void StartLocalFrom(lease::LeaseTable* leases) { leases_ = leases; }

  /// kNow: the answer is there. kLater: `on_done` will be run, never before this returns. What the
  /// answer points to (rules, limits) is good until the next call of the limiter or, if the answer
  /// came later, until `on_done` returns.
  store::Answered Ask(Question& question, WallTime now);

  static constexpr std::size_t kMostAtOnce = 16;
  /// Asks questions that are independent of each other, at most kMostAtOnce: as if one after the
  /// other, but faster, and by the same rules. Those that are not answered when it returns are
  /// `pending()`; what the answers of the others point to is good until the next call of the
  /// limiter.
  void AskBatch(std::span<Question* const> questions, WallTime now);

 private:
  bool Begin(Question& question, const rules::RuleSet* rules, WallTime now);
  store::Answered End(Question& question, store::Answered answered);
  bool MeetRules(Question& question, const rules::RuleSet* rules);
  bool MeetOwnLimits(Question& question);
  void AddUse(Question& question, const rules::MetLimit& met, Mode mode);
  void Conclude(Question& question);
  void Judge(Question& question);
  void AskFallback(Question& question, std::span<const std::size_t> local);
  void LowerToLastKnown(const store::Use& share, const Limit& whole, WallTime now);
  void AskEmergency(Question& question, std::size_t open);
  void Degrade(Question& question);

  store::Store& store_;
  store::Store* fallback_;
  rules::RulesReader& rules_;
  const Settings& settings_;
  Observer* observer_ = nullptr;
  lease::LeaseTable* leases_ = nullptr;
};

}  // namespace sluice::limiter
