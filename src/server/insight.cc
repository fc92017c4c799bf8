#include "server/insight.h"

#include <algorithm>
#include <utility>

#include <pthread.h>

#include "api/admin/series_report.h"
#include "api/admin/top_report.h"
#include "base/clock.h"
#include "server/worker.h"

namespace sluice::server {
namespace {

using telemetry::ConsumerSketches;
using telemetry::DecisionBuffer;
using telemetry::TopDimension;

constexpr Micros kTick = std::chrono::milliseconds(100);
constexpr std::size_t kMaxWaitingTasks = 64;
// For one viewer in one tick; the others count as dropped.
constexpr std::size_t kMaxDenialsPerTick = 100;
// With which a viewer begins: what its connection holds at most while it does not read.
constexpr std::size_t kMaxReplayBytes = std::size_t{192} << 10;
constexpr std::uint64_t kPublishSeconds = 5;

}  // namespace

/// A viewer, shared by its loop and the collecting thread.
struct Insight::Viewer {
  Viewer(net::Loop& its_loop, api::DenialFilter its_filter, identity::Principal its_principal,
         api::DenialReplay its_replay)
      : loop(its_loop),
        filter(std::move(its_filter)),
        principal(std::move(its_principal)),
        replay(its_replay) {}

  net::Loop& loop;
  const api::DenialFilter filter;
  const identity::Principal principal;
  const api::DenialReplay replay;
  std::function<void(const api::DenialBatch&)> deliver;  ///< Of its loop's thread; empty: it left.
  std::atomic<bool> gone{false};
  std::atomic<bool> is_delivering{false};  ///< A batch waits for its loop.
  api::DenialBatch batch;                  ///< Of the collecting thread.
};

class Insight::Subscription final : public api::DenialSubscription {
 public:
  Subscription(std::shared_ptr<Viewer> viewer, std::shared_ptr<std::atomic<std::size_t>> count)
      : viewer_(std::move(viewer)), count_(std::move(count)) {}
  ~Subscription() override {
    viewer_->deliver = nullptr;
    viewer_->gone.store(true);
    count_->fetch_sub(1);
  }
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;

 private:
  const std::shared_ptr<Viewer> viewer_;
  const std::shared_ptr<std::atomic<std::size_t>> count_;
};

/// One denial as viewers see it, written when the first of them needs it.
class Insight::Rendered {
 public:
  Rendered(api::DenialWriter& writer, const telemetry::DecisionRecord& record,
           std::uint64_t sequence)
      : writer_(writer), record_(record), sequence_(sequence) {}

  [[nodiscard]] const telemetry::DecisionRecord& record() const { return record_; }
  [[nodiscard]] std::uint64_t sequence() const { return sequence_; }
  const std::string& For(const identity::Principal& principal) {
    std::string& text = texts_[principal.Has(identity::Role::kOperator) ? 1 : 0];
    if (text.empty()) writer_.Append(record_, sequence_, principal, text);
    return text;
  }

 private:
  api::DenialWriter& writer_;
  const telemetry::DecisionRecord& record_;
  const std::uint64_t sequence_;
  std::array<std::string, 2> texts_;  ///< With shortened and with whole keys.
};

Insight::Insight(Shared& shared, net::Loops& loops,
                 const std::vector<std::unique_ptr<Worker>>& workers)
    : shared_(shared), loops_(loops), workers_(workers), identity_(shared.identity) {}

Insight::~Insight() { Stop(); }

Result<bool> Insight::OpenLog() {
  const std::string& path = shared_.config.decision_log.file;
  if (path.empty()) return true;
  auto log = telemetry::LineFile::Open(path);
  if (!log) return Error{ErrorCode::kInvalidOptions, "decision_log.file: " + log.error().message};
  log_ = *std::move(log);
  return true;
}

void Insight::Start(const std::string& node, Publish publish) {
  thread_.Do([this, &node, &publish] {
    pthread_setname_np(pthread_self(), "sluice-insight");  // It is no loop of connections.
    publish_ = std::move(publish);
    writer_.emplace(node, shared_.receipt_secret, shared_.rules);
    timer_ = std::make_unique<net::Timer>(thread_.loop(), [this] { Tick(); });
    Tick();
  });
  phase_.store(Phase::kCollecting);
}

void Insight::Stop() {
  while (!TryStop(std::chrono::seconds(1))) {
  }
}

bool Insight::TryStop(Micros timeout) {
  if (phase_.exchange(Phase::kStopped) == Phase::kCollecting) {
    thread_.loop().Post([this] {
      timer_.reset();
      publish_ = nullptr;
      TakeInbox(TheSystemClock().Now());
      viewers_.clear();
      stopped_.set_value();
    });
    waits_for_stop_ = true;
  }
  if (waits_for_stop_ && done_.wait_for(timeout) != std::future_status::ready) return false;
  return !log_ || log_->TryStop(timeout);
}

void Insight::ReopenLog() {
  if (log_) log_->Reopen();
}

InsightMetrics Insight::Metrics() const {
  return {.viewers = viewer_count_->load(),
          .dropped_records = dropped_records_.load(),
          .log_lines = log_ ? log_->written() : 0,
          .dropped_log_lines = log_ ? log_->dropped() : 0};
}

bool Insight::Run(net::Loop& caller, std::function<void(api::InsightReader&)> task,
                  std::function<void()> done) {
  if (phase_.load() != Phase::kCollecting) return false;
  if (waiting_tasks_.fetch_add(1) >= kMaxWaitingTasks) {
    waiting_tasks_.fetch_sub(1);
    return false;
  }
  thread_.loop().Post([this, &caller, task = std::move(task), done = std::move(done)]() mutable {
    api::InsightReader reader{.state = state_, .denials = *writer_};
    task(reader);
    waiting_tasks_.fetch_sub(1);
    caller.Post(std::move(done));
  });
  return true;
}

std::unique_ptr<api::DenialSubscription> Insight::Watch(
    net::Loop& caller, api::DenialFilter filter, identity::Principal principal,
    api::DenialReplay replay, std::function<void(const api::DenialBatch&)> deliver) {
  if (phase_.load() != Phase::kCollecting) return nullptr;
  if (viewer_count_->fetch_add(1) >= shared_.config.denials.max_viewers) {
    viewer_count_->fetch_sub(1);
    return nullptr;
  }
  auto viewer = std::make_shared<Viewer>(caller, std::move(filter), std::move(principal), replay);
  viewer->deliver = std::move(deliver);
  thread_.loop().Post([this, viewer] {
    Replay(*viewer);
    viewers_.push_back(viewer);
  });
  return std::make_unique<Subscription>(std::move(viewer), viewer_count_);
}

void Insight::Tick() {
  const WallTime now = TheSystemClock().Now();
  const SteadyTime turn = thread_.loop().Now();
  TakeInbox(now);
  Deliver();
  const bool second = turn >= next_second_;
  if (second) {
    next_second_ = turn + std::chrono::seconds(1);
    for (telemetry::TopWindows& windows : state_.top) windows.Advance(now);
    SampleSeries(now);
    ++seconds_;
    PublishConsumers();
    PublishSeries();
  }
  AskLoops(second);
  timer_->Set(turn + kTick);
}

// A loop that has recorded nothing is left alone.
void Insight::AskLoops(bool also_for_counts) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    telemetry::LoopInsight& insight = workers_[i]->insight();
    const bool for_records = insight.has_records();
    const bool for_counts = also_for_counts && insight.has_counts();
    if (!for_records && !for_counts) continue;
    // Shared, since a posted function can be copied.
    auto records = std::make_shared<std::unique_ptr<DecisionBuffer>>();
    auto sketches = std::make_shared<std::unique_ptr<ConsumerSketches>>();
    if (for_records) {
      if (spare_records_.empty()) {
        *records = std::make_unique<DecisionBuffer>(Worker::kRecordBytes);
      } else {
        *records = std::move(spare_records_.back());
        spare_records_.pop_back();
      }
    }
    if (for_counts) {
      if (spare_sketches_.empty()) {
        *sketches = std::make_unique<ConsumerSketches>();
      } else {
        *sketches = std::move(spare_sketches_.back());
        spare_sketches_.pop_back();
      }
    }
    loops_[i].Post([inbox = inbox_, &insight, records, sketches] {
      if (*records) *records = insight.Exchange(std::move(*records));
      if (*sketches) *sketches = insight.Exchange(std::move(*sketches));
      const std::lock_guard lock(inbox->mutex);
      if (*records) inbox->records.push_back(std::move(*records));
      if (*sketches) inbox->sketches.push_back(std::move(*sketches));
    });
  }
}

void Insight::TakeInbox(WallTime now) {
  std::vector<std::unique_ptr<DecisionBuffer>> records;
  std::vector<std::unique_ptr<ConsumerSketches>> sketches;
  {
    const std::lock_guard lock(inbox_->mutex);
    records.swap(inbox_->records);
    sketches.swap(inbox_->sketches);
  }
  // In the order of their times, of whichever loop they are.
  std::vector<std::pair<WallTime, std::string_view>> all;
  for (const auto& buffer : records) {
    buffer->ForEach([&all](std::string_view bytes) {
      all.emplace_back(telemetry::ReadRecordTime(bytes), bytes);
    });
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [time, bytes] : all) TakeRecord(bytes);
  const std::size_t spares = workers_.size();
  for (auto& buffer : records) {
    CountDropped(buffer->dropped());
    buffer->Clear();
    if (spare_records_.size() < spares) spare_records_.push_back(std::move(buffer));
  }
  for (auto& counted : sketches) {
    TakeSketches(*counted, now);
    counted->Clear();
    if (spare_sketches_.size() < spares) spare_sketches_.push_back(std::move(counted));
  }
}

void Insight::TakeRecord(std::string_view bytes) {
  const settings::DecisionLogSettings& log = shared_.config.decision_log;
  telemetry::ReadRecord(bytes, read_);
  const telemetry::DecisionRecord& record = read_.record;
  bool is_logged = log_ != nullptr;
  if (!record.allowed) {
    const auto& entry = state_.denials.Append(bytes);
    Rendered denial(*writer_, record, entry.sequence);
    for (const auto& viewer : viewers_) Offer(*viewer, denial);
    if (on_denial_) on_denial_(record);
    is_logged = is_logged && log.denied_every > 0 && --until_denial_logged_ == 0;
    if (until_denial_logged_ == 0) {
      until_denial_logged_ = std::max<std::size_t>(log.denied_every, 1);
    }
  }
  if (!is_logged) return;
  line_.clear();
  writer_->AppendForLog(record, *identity_.Get(), line_);
  log_->Write(line_);
}

void Insight::CountDropped(std::uint64_t records) {
  if (records == 0) return;
  dropped_records_.fetch_add(records);
  state_.denials.AddDropped(records);
  if (log_) log_->CountDropped(records);
  for (const auto& viewer : viewers_) viewer->batch.dropped += records;
}

void Insight::TakeSketches(const ConsumerSketches& sketches, WallTime now) {
  const WallTime second = std::chrono::floor<std::chrono::seconds>(now);
  for (const TopDimension dimension :
       {TopDimension::kDenied, TopDimension::kAllowed, TopDimension::kCost}) {
    const std::uint32_t weight = dimension == TopDimension::kDenied ? sketches.max_denied_weight
                                                                    : sketches.max_allowed_weight;
    state_.top[static_cast<std::size_t>(dimension)].Add(
        telemetry::SliceOf(sketches.Of(dimension), weight, second), now);
  }
}

// Consumers of the last hour change slowly.
void Insight::PublishConsumers() {
  using telemetry::TopWindow;
  const auto publish = [this](TopWindow window, std::uint64_t every) {
    if (!publish_ || seconds_ % every != 0) return;
    publish_(api::ReportNameOf(window), api::WriteTopReport(state_, window),
             std::chrono::seconds(4 * every));
  };
  publish(TopWindow::kMinute, kPublishSeconds);
  publish(TopWindow::kTenMinutes, kPublishSeconds);
  publish(TopWindow::kHour, 6 * kPublishSeconds);
}

// They are valid for as long as they reach back, so that what a node did before it went away stays
// in the sums.
void Insight::PublishSeries() {
  using telemetry::TimeSeries;
  for (const std::size_t level : {TimeSeries::kByFiveSeconds, TimeSeries::kByHalfMinute}) {
    const auto [step, points] = TimeSeries::kLevels[level];
    const auto every = static_cast<std::uint64_t>(step / Micros(std::chrono::seconds(1)));
    if (!publish_ || seconds_ % every != 0) continue;
    publish_(api::SeriesReportName(level), api::WriteSeriesReport(state_.series, level),
             step * static_cast<std::int64_t>(points));
  }
}

void Insight::SampleSeries(WallTime now) {
  telemetry::CallTotals totals;
  for (const auto& worker : workers_) {
    const LoopCounters& counters = worker->loop_counters();
    for (std::size_t i = 0; i < kLabels<api::Protocol>.size(); ++i) {
      const auto& calls = counters.calls.calls[static_cast<api::Protocol>(i)];
      for (std::size_t j = 0; j < kLabels<api::CallOutcome>.size(); ++j) {
        const auto outcome = static_cast<api::CallOutcome>(j);
        if (outcome == api::CallOutcome::kInvalid) continue;
        totals.checks += calls[outcome];
        const bool denied = outcome == api::CallOutcome::kDenied ||
                            outcome == api::CallOutcome::kBlocked ||
                            outcome == api::CallOutcome::kUnavailable;
        if (denied) totals.denials += calls[outcome];
      }
    }
    for (std::size_t i = 0; i < kLabels<rules::OnStoreFailure>.size(); ++i) {
      totals.degraded += counters.decisions.degraded[static_cast<rules::OnStoreFailure>(i)];
    }
    Histogram times;
    for (std::size_t i = 0; i < kLabels<Algorithm>.size(); ++i) {
      const auto& by_allowed = counters.decisions.check_times[static_cast<Algorithm>(i)];
      times += by_allowed[limiter::Allowed::kNo];
      times += by_allowed[limiter::Allowed::kYes];
    }
    for (std::size_t i = 0; i < kBuckets; ++i) totals.latency[i] += times.bucket(i);
  }
  if (shared_.leases) {
    const lease::TableStats leases = shared_.leases->table.StatsApprox();
    totals.lease_hits = leases.hits + leases.denials;
    totals.lease_fetches = leases.fetches;
  }
  state_.series.Add(totals, now);
}

void Insight::Replay(Viewer& viewer) {
  std::vector<const telemetry::DecisionRing::Entry*> chosen;
  telemetry::ReadDecision read;
  const auto& entries = state_.denials.entries();
  // A number that was never used is that of a process before this one.
  const std::uint64_t after = viewer.replay.after > state_.denials.last() ? 0 : viewer.replay.after;
  for (std::size_t i = entries.size(); i-- > 0 && chosen.size() < viewer.replay.most;) {
    if (entries[i].sequence <= after) break;
    telemetry::ReadRecord(entries[i].bytes, read);
    if (viewer.filter.Matches(read.record)) chosen.push_back(&entries[i]);
  }
  std::size_t bytes = 0;
  for (const telemetry::DecisionRing::Entry* const entry : chosen) {
    if (bytes > kMaxReplayBytes) {
      ++viewer.batch.dropped;
      continue;
    }
    telemetry::ReadRecord(entry->bytes, read);
    Rendered denial(*writer_, read.record, entry->sequence);
    viewer.batch.denials.emplace_back(denial.sequence(), denial.For(viewer.principal));
    bytes += viewer.batch.denials.back().second.size();
  }
  std::reverse(viewer.batch.denials.begin(), viewer.batch.denials.end());
}

void Insight::Offer(Viewer& viewer, Rendered& denial) {
  if (viewer.gone.load() || !viewer.filter.Matches(denial.record())) return;
  if (viewer.batch.denials.size() >= std::max(kMaxDenialsPerTick, viewer.replay.most)) {
    ++viewer.batch.dropped;
    return;
  }
  viewer.batch.denials.emplace_back(denial.sequence(), denial.For(viewer.principal));
}

// A viewer whose loop has not taken the last batch keeps this one, which is bounded.
void Insight::Deliver() {
  std::erase_if(viewers_, [](const auto& viewer) { return viewer->gone.load(); });
  for (const auto& viewer : viewers_) {
    if (viewer->batch.denials.empty() && viewer->batch.dropped == 0) continue;
    if (viewer->is_delivering.exchange(true)) continue;
    viewer->loop.Post([viewer, batch = std::make_shared<const api::DenialBatch>(
                                   std::exchange(viewer->batch, {}))] {
      if (viewer->deliver) viewer->deliver(*batch);
      viewer->is_delivering.store(false);
    });
  }
}

}  // namespace sluice::server
