#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include <sluice/decision.h>
#include <sluice/limit.h>
#include <sluice/time.h>

#include "base/clock.h"
#include "base/key.h"
#include "base/key_hash.h"
#include "base/metrics.h"

namespace sluice::denial {

struct TableOptions {
  /// Maximum number of denials; beyond it, the least recently used ones are dropped.
  std::size_t max_denials = std::size_t{1} << 15;
};

/// Delay before the first real check of a remembered denial. It doubles up to kLongestRecheck,
/// which bounds the effect of a missed Drop.
inline constexpr Micros kFirstRecheck = std::chrono::milliseconds(50);
inline constexpr Micros kLongestRecheck = std::chrono::seconds(1);

enum class DenialAdvice : std::uint8_t {
  kUnknown,  ///< No denial is remembered: the store decides.
  kDenied,
  kDue,    ///< Denied, and a real check is due.
  kProbe,  ///< Denied, but send this call as the real check. Denied, Passed or Failed must follow.
};

/// A remembered denial of a key.
struct Denial {
  DenialAdvice advice = DenialAdvice::kUnknown;
  Outcome outcome = Outcome::kDenied;  ///< Of the lowest denied cost.
  std::int64_t cost = 0;               ///< The lowest denied cost.
  std::int64_t remaining = 0;
  Micros retry_after{0};  ///< Until a call of that cost may pass.
  Micros reset_after{0};

  [[nodiscard]] bool is_denied() const { return advice != DenialAdvice::kUnknown; }
  /// Returns the limit's verdict for a call of `call_cost`.
  [[nodiscard]] Verdict VerdictOf(const LimitNumbers& limit, std::int64_t call_cost) const;
};

/// Returns the time until a bucket has refilled by `missing`, at most `longest`.
[[nodiscard]] Micros RefillTime(const LimitNumbers& limit, std::int64_t missing, Micros longest);

/// Remembered denials of all keys of a process: for each key and limit the lowest denied cost and
/// the time until which the denial holds unless something is given back (the store's `retry_after`,
/// counted from the sending of the call). A limit with changed numbers is another limit.
///
/// Real checks at growing intervals detect units that were given back unnoticed. One call at a time
/// becomes a real check; all concurrent ones do if none came for longer than kLongestRecheck,
/// because the denial may be stale then.
///
/// Drop also invalidates denials of calls that were sent before it and are answered later.
///
/// Bounded; allocates only in the constructor. Thread-safe: keys are in small sets, each with a
/// lock that is held for some dozens of instructions.
class DenialTable {
 public:
  using TimeSource = std::function<SteadyTime()>;

  explicit DenialTable(const TableOptions& options = {});
  ~DenialTable();
  DenialTable(const DenialTable&) = delete;
  DenialTable& operator=(const DenialTable&) = delete;

  /// Returns the denial remembered for a call of `cost`; never kProbe. Reads the time only if there
  /// is one.
  [[nodiscard]] Denial Find(const Key& key, const Limit& limit, std::int64_t cost,
                            const TimeSource& now) const;
  /// Like Find, but makes the caller's call the real check if one is due and none is under way.
  [[nodiscard]] Denial FindOrProbe(const Key& key, const Limit& limit, std::int64_t cost,
                                   const TimeSource& now);

  /// The kind of a call whose result is reported.
  enum class CheckKind : std::uint8_t {
    kOrdinary,
    kProbe,    ///< The real check of a remembered denial.
    kRestart,  ///< A real check that found units; the next one is due after kFirstRecheck.
  };
  /// Records that the store denied a call that was sent at `sent`.
  void Denied(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime sent,
              const Verdict& verdict, CheckKind kind);
  /// Records that the store allowed a real check that was sent at `sent`.
  void Passed(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime sent);
  /// Records that a real check failed.
  void Failed(const Key& key, SteadyTime now);
  /// Cancels a real check that was not sent; the next call may be it.
  void Unprobe(const Key& key);

  /// Drops the denials of a key, because units were, or may have been, given back. Denials of calls
  /// sent before `now` are ignored.
  void Drop(const Key& key, SteadyTime now);

  /// Counts a call answered from this table.
  void CountAnswer();
  /// Returns the number of calls answered from this table.
  [[nodiscard]] std::uint64_t answers() const;
  static constexpr auto Metrics() {
    return std::tuple{Metric{MetricType::kCounter, "rate_limiter_remembered_denials_total",
                             "Checks denied from memory because Redis had denied them before.",
                             &DenialTable::answers}};
  }

 private:
  struct Entry;
  struct Set;
  struct alignas(64) SharedCounter {
    std::atomic<std::uint64_t> value{0};
  };

  [[nodiscard]] Set& SetOf(const KeyHash& hash) const;
  Denial Find(const Key& key, const Limit& limit, std::int64_t cost, const TimeSource& now,
              bool may_probe) const;

  const KeyHasher hasher_;
  const std::size_t set_count_;
  const std::unique_ptr<Set[]> sets_;
  std::array<SharedCounter, 16> answers_;  ///< Threads use different ones, to avoid contention.
};

}  // namespace sluice::denial
