#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "api/admin/denial_json.h"
#include "api/admin/insight_services.h"
#include "base/metrics.h"
#include "net/loop.h"
#include "net/loops.h"
#include "net/timer.h"
#include "server/shared.h"
#include "telemetry/insight_state.h"
#include "telemetry/line_file.h"

namespace sluice::server {

class Worker;

struct InsightMetrics {
  std::uint64_t viewers = 0;
  std::uint64_t dropped_records = 0;
  std::uint64_t log_lines = 0;
  std::uint64_t dropped_log_lines = 0;

  static constexpr auto Metrics() {
    using enum MetricType;
    using S = InsightMetrics;
    return std::tuple{
        Metric{kGauge, "rate_limiter_denial_viewers", "Clients that watch denials.", &S::viewers},
        Metric{kCounter, "rate_limiter_denial_records_dropped_total",
               "Decisions that were not recorded because there were too many.",
               &S::dropped_records},
        Metric{kCounter, "rate_limiter_decision_log_lines_total",
               "Lines written to the decision log.", &S::log_lines},
        Metric{kCounter, "rate_limiter_decision_log_lines_dropped_total",
               "Decisions that are missing in the decision log because it was too slow.",
               &S::dropped_log_lines}};
  }
};
static_assert(HasAllMetrics<InsightMetrics>);

/// Collects what event loops record about their calls (telemetry/loop_insight.h), on a thread of
/// its own: consumers, denials, time series, the decision log. Event loops never wait for it.
class Insight {
 public:
  /// All must outlive it, and be complete when it starts.
  Insight(Shared& shared, net::Loops& loops, const std::vector<std::unique_ptr<Worker>>& workers);
  ~Insight();
  Insight(const Insight&) = delete;
  Insight& operator=(const Insight&) = delete;

  /// Opens the decision log, if there is one. Fails with kInvalidOptions.
  Result<bool> OpenLog();
  /// Publishes a report of this node for the others, later; it is valid for `ttl`.
  using Publish = std::function<void(std::string name, std::string text, Micros ttl)>;
  /// Begins to collect. `node` is the name of this server in records.
  void Start(const std::string& node, Publish publish);
  /// Ends it: nothing is collected any more, and new tasks and viewers are refused.
  void Stop();
  /// The same, for so long at most. Returns false if it takes longer: a disk is slow.
  [[nodiscard]] bool TryStop(Micros timeout);

  // ---- From any thread.

  /// Opens the file of the decision log again.
  void ReopenLog();
  [[nodiscard]] InsightMetrics Metrics() const;
  /// See api::InsightServices.
  bool Run(net::Loop& caller, std::function<void(api::InsightReader&)> task,
           std::function<void()> done);
  std::unique_ptr<api::DenialSubscription> Watch(
      net::Loop& caller, api::DenialFilter filter, identity::Principal principal,
      api::DenialReplay replay, std::function<void(const api::DenialBatch&)> deliver);

 private:
  struct Viewer;
  class Subscription;
  class Rendered;

  /// Records that loops gave away, until the collecting thread takes them.
  struct Inbox {
    std::mutex mutex;
    std::vector<std::unique_ptr<telemetry::DecisionBuffer>> records;
    std::vector<std::unique_ptr<telemetry::ConsumerSketches>> sketches;
  };

  // On the collecting thread.
  void Tick();
  void TakeInbox(WallTime now);
  void AskLoops(bool also_for_counts);
  void TakeRecord(std::string_view bytes);
  void CountDropped(std::uint64_t records);
  void PublishConsumers();
  void PublishSeries();
  void TakeSketches(const telemetry::ConsumerSketches& sketches, WallTime now);
  void SampleSeries(WallTime now);
  void Replay(Viewer& viewer);
  void Offer(Viewer& viewer, Rendered& denial);
  void Deliver();

  Shared& shared_;
  net::Loops& loops_;
  const std::vector<std::unique_ptr<Worker>>& workers_;
  std::unique_ptr<telemetry::LineFile> log_;  ///< Null: decisions are not logged.
  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  const std::shared_ptr<std::atomic<std::size_t>> viewer_count_ =
      std::make_shared<std::atomic<std::size_t>>(0);
  std::atomic<std::size_t> waiting_tasks_{0};
  std::atomic<std::uint64_t> dropped_records_{0};

  // Of the collecting thread.
  telemetry::InsightState state_;
  std::optional<api::DenialWriter> writer_;
  LiveReader<identity::Identifier> identity_;
  std::vector<std::shared_ptr<Viewer>> viewers_;
  std::vector<std::unique_ptr<telemetry::DecisionBuffer>> spare_records_;
  std::vector<std::unique_ptr<telemetry::ConsumerSketches>> spare_sketches_;
  std::uint64_t until_denial_logged_ = 1;
  SteadyTime next_second_{};
  std::uint64_t seconds_ = 0;  ///< Since it started.
  Publish publish_;
  std::string line_;
  telemetry::ReadDecision read_;
  std::unique_ptr<net::Timer> timer_;
  enum class Phase : std::uint8_t { kStarting, kCollecting, kStopped };
  std::atomic<Phase> phase_{Phase::kStarting};
  std::promise<void> stopped_;
  const std::future<void> done_ = stopped_.get_future();
  bool waits_for_stop_ = false;  ///< Of the thread that stops it.
  net::LoopThread thread_;       ///< Last: it uses all others.
};

/// The reports for one loop.
class LoopInsightServices final : public api::InsightServices {
 public:
  LoopInsightServices(Insight& insight, net::Loop& loop) : insight_(insight), loop_(loop) {}

  bool Run(std::function<void(api::InsightReader&)> task, std::function<void()> done) override {
    return insight_.Run(loop_, std::move(task), std::move(done));
  }
  std::unique_ptr<api::DenialSubscription> Watch(
      api::DenialFilter filter, identity::Principal principal, api::DenialReplay replay,
      std::function<void(const api::DenialBatch&)> deliver) override {
    return insight_.Watch(loop_, std::move(filter), std::move(principal), replay,
                          std::move(deliver));
  }

 private:
  Insight& insight_;
  net::Loop& loop_;
};

}  // namespace sluice::server
