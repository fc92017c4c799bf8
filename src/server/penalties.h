#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <sluice/time.h>

#include "base/labels.h"
#include "base/metrics.h"
#include "limiter/decision_counters.h"
#include "net/loop.h"
#include "net/loops.h"
#include "net/timer.h"
#include "penalty/offense_writer.h"
#include "penalty/strike_batch.h"
#include "penalty/strike_ledger.h"
#include "server/shared.h"

namespace sluice::server {

class ControlPlane;
class Worker;

struct PenaltyMetrics {
  std::uint64_t strikes = 0;
  std::uint64_t dropped_strikes = 0;
  EnumArray<limiter::PenaltyMode, std::uint64_t> penalties{};
  std::uint64_t displaced = 0;
  std::uint64_t failed = 0;
  std::uint64_t entries = 0;
  std::uint64_t max_entries = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = PenaltyMetrics;
    return std::tuple{
        Metric{kCounter, "rate_limiter_penalty_strikes_total",
               "Denials by rules that have a penalty.", &S::strikes},
        Metric{kCounter, "rate_limiter_penalty_strikes_dropped_total",
               "Strikes that were not counted, because there were too many callers or the store "
               "failed.",
               &S::dropped_strikes},
        Metric{kCounter, "rate_limiter_penalties_total",
               "Penalties that this server wrote, by mode.", &S::penalties, "mode"},
        Metric{kCounter, "rate_limiter_penalties_displaced_total",
               "Penalties that ended early to make room for others.", &S::displaced},
        Metric{kCounter, "rate_limiter_penalties_failed_total",
               "Offenses without a penalty: the control store failed, or matchers had too many "
               "different sets of attributes.",
               &S::failed},
        Metric{kGauge, "rate_limiter_penalty_entries",
               "Penalties of all servers, also ended ones until they are forgotten.", &S::entries},
        Metric{kGauge, "rate_limiter_penalty_entries_max",
               "Penalties that are kept at most (penalties.max_entries).", &S::max_entries}};
  }
};
static_assert(HasAllMetrics<PenaltyMetrics>);

/// Makes penalties of the strikes that event loops count: collects them ten times a second, counts
/// them in the store on one of the loops, and writes the penalties of callers that passed a
/// threshold. On a thread of its own, which never waits: event loops and the control plane do the
/// rest, and while they are busy strikes are added up.
class Penalties {
 public:
  /// All must outlive it, and be complete when it starts.
  Penalties(Shared& shared, net::Loops& loops, const std::vector<std::unique_ptr<Worker>>& workers);
  ~Penalties();
  Penalties(const Penalties&) = delete;
  Penalties& operator=(const Penalties&) = delete;

  /// `control` must live until Stop, and end its tasks before this is destroyed.
  void Start(ControlPlane& control);
  void Stop();

  /// From any thread.
  [[nodiscard]] PenaltyMetrics Metrics() const;

 private:
  /// What loops gave away, until the thread takes it.
  struct Inbox {
    std::mutex mutex;
    std::vector<std::unique_ptr<penalty::StrikeBuffer>> buffers;
    std::optional<penalty::StrikeOutcome> outcome;  ///< Of the batch under way.
  };
  /// Totals for metrics. Atomic: read by any thread.
  struct Totals {
    std::atomic<std::uint64_t> strikes{0};
    std::atomic<std::uint64_t> dropped{0};
    std::atomic<std::uint64_t> failed_counts{0};
    std::atomic<std::uint64_t> enforced{0};
    std::atomic<std::uint64_t> shadow{0};
    std::atomic<std::uint64_t> displaced{0};
    std::atomic<std::uint64_t> failed{0};
  };

  // On the thread.
  void Tick();
  void TakeInbox();
  void AskLoops();
  void CountStrikes();
  void WriteOffenses();
  void Take(const penalty::OffenseResult& result);
  void ResetCounters(const std::vector<penalty::Offense>& offenses);
  void AuditTotals();
  [[nodiscard]] WallTime StoreTime() const;

  Shared& shared_;
  net::Loops& loops_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  ControlPlane* control_ = nullptr;
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Totals totals_;
  std::atomic<std::uint64_t> entries_{0};

  // Of the thread.
  penalty::StrikeLedger ledger_;
  std::vector<std::unique_ptr<penalty::StrikeBuffer>> spares_;
  bool counts_ = false;  ///< A batch is under way.
  bool writes_ = false;  ///< A write is under way.
  std::vector<penalty::Offense> offenses_;
  std::size_t next_loop_ = 0;
  SteadyTime next_audit_{};
  std::uint64_t audited_ = 0;
  std::unique_ptr<net::Timer> timer_;
  bool is_running_ = false;  ///< Of the thread that starts and stops it.
  net::LoopThread thread_;   ///< Last: it uses all others.
};

}  // namespace sluice::server
