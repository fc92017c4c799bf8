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
  /// How many denials are remembered at most; beyond that, those that were used least recently are
  /// forgotten.
  std::size_t max_denials = std::size_t{1} << 15;
};

/// A remembered denial is checked again for the first time after this, then after twice as long
/// each time, up to kLongestRecheck: so long a missed Drop goes unnoticed at most.
inline constexpr Micros kFirstRecheck = std::chrono::milliseconds(50);
inline constexpr Micros kLongestRecheck = std::chrono::seconds(1);

enum class DenialAdvice : std::uint8_t {
  kUnknown,  ///< Nothing is remembered: the store decides.
  kDenied,
  kDue,    ///< Denied, and a real check of it is due.
  kProbe,  ///< Denied, but this call is to be sent as the real check. Denied, Passed or Failed must
           ///< follow.
};

/// A remembered denial of a key.
struct Denial {
  DenialAdvice advice = DenialAdvice::kUnknown;
  Outcome outcome = Outcome::kDenied;  ///< Of the lowest cost that was denied,
  std::int64_t cost = 0;               ///< which is this.
  std::int64_t remaining = 0;
  Micros retry_after{0};  ///< Until a call of that cost may pass.
  Micros reset_after{0};

  [[nodiscard]] bool is_denied() const { return advice != DenialAdvice::kUnknown; }
  /// Returns the limit's verdict for a call of `call_cost`.
  [[nodiscard]] Verdict VerdictOf(const LimitNumbers& limit, std::int64_t call_cost) const;
};

/// How long a bucket takes to refill by so much, at most `longest`.
[[nodiscard]] Micros RefillTime(const LimitNumbers& limit, std::int64_t missing, Micros longest);

/// The denials that a process remembers, of all keys: for each key and limit the lowest cost that
/// was denied, and the moment T until which that holds if nothing is given back: what the store
/// said, counted from when the call was sent. A limit whose numbers have changed is another limit.
///
/// T is not believed to its end: real checks find out what was given back unnoticed. One call at a
/// time is advised to be one; each of those that come together if none came for longer than
/// kLongestRecheck, since what is remembered may be wrong then.
///
/// Drop forgets, and also refuses denials of calls that were sent before it, whenever their answers
/// come.
///
/// Bounded; allocates only when made. Thread-safe: keys lie in small sets with a lock each, which
/// is held for some dozens of instructions.
class DenialTable {
 public:
  using TimeSource = std::function<SteadyTime()>;

  explicit DenialTable(const TableOptions& options = {});
  ~DenialTable();
  DenialTable(const DenialTable&) = delete;
  DenialTable& operator=(const DenialTable&) = delete;

  /// Returns what is remembered for a call of `cost`; never kProbe. The time is read only if there
  /// is something.
  [[nodiscard]] Denial Find(const Key& key, const Limit& limit, std::int64_t cost,
                            const TimeSource& now) const;
  /// The same, but makes the caller's call the real check if one is due and none is under way.
  [[nodiscard]] Denial FindOrProbe(const Key& key, const Limit& limit, std::int64_t cost,
                                   const TimeSource& now);

  /// How a call came to its result.
  enum class Check : std::uint8_t {
    kOrdinary,
    kProbe,    ///< It was the real check of a remembered denial.
    kRestart,  ///< Likewise, and something was had: the next one is due after kFirstRecheck.
  };
  /// The store denied a call that was sent at `sent`.
  void Denied(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime sent,
              const Verdict& verdict, Check check);
  /// The store allowed a real check that was sent at `sent`.
  void Passed(const Key& key, const Limit& limit, std::int64_t cost, SteadyTime sent);
  /// There is no result of a real check.
  void Failed(const Key& key, SteadyTime now);
  /// A real check was not sent after all; the next call may be it.
  void Unprobe(const Key& key);

  /// Something was given back, or may have been: what was denied may pass. What was sent before
  /// `now` is not remembered any more.
  void Drop(const Key& key, SteadyTime now);

  /// A call was answered from here.
  void CountAnswer();
  /// How many calls were answered from here.
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
  std::array<SharedCounter, 16> answers_;  ///< Threads add to different ones.
};

}  // namespace sluice::denial
