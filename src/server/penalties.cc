#include "server/penalties.h"

#include <string>
#include <utility>

#include <pthread.h>

#include "api/admin/denial_json.h"
#include "base/clock.h"
#include "base/random.h"
#include "server/control_plane.h"
#include "server/worker.h"

namespace sluice::server {
namespace {

using penalty::Offense;
using penalty::StrikeBuffer;

// Strikes of a caller are counted in the store once in this time.
constexpr Micros kStrikeInterval = std::chrono::milliseconds(100);
constexpr Micros kAuditInterval = std::chrono::minutes(1);
// Of offenses that wait for the control store; the others will be noticed again.
constexpr std::size_t kMaxWaiting = 4'096;

}  // namespace

Penalties::Penalties(Shared& shared, net::Loops& loops,
                     const std::vector<std::unique_ptr<Worker>>& workers)
    : shared_(shared), loops_(loops), workers_(workers) {}

Penalties::~Penalties() { Stop(); }

void Penalties::Start(ControlPlane& control) {
  control_ = &control;
  is_running_ = true;
  thread_.Do([this] {
    pthread_setname_np(pthread_self(), "sluice-penalty");
    next_audit_ = thread_.loop().Now() + kAuditInterval;
    timer_ = std::make_unique<net::Timer>(thread_.loop(), [this] { Tick(); });
    Tick();
  });
}

void Penalties::Stop() {
  if (!std::exchange(is_running_, false)) return;
  thread_.Do([this] { timer_.reset(); });
}

PenaltyMetrics Penalties::Metrics() const {
  PenaltyMetrics metrics{.strikes = totals_.strikes.load(),
                         .dropped_strikes = totals_.dropped.load() + totals_.failed_counts.load(),
                         .displaced = totals_.displaced.load(),
                         .failed = totals_.failed.load(),
                         .entries = entries_.load(),
                         .max_entries = shared_.config.penalties.max_entries};
  metrics.penalties[limiter::PenaltyMode::kEnforced] = totals_.enforced.load();
  metrics.penalties[limiter::PenaltyMode::kShadow] = totals_.shadow.load();
  return metrics;
}

WallTime Penalties::StoreTime() const {
  // Relaxed: any recent value will do.
  return TheSystemClock().Now() +
         shared_.settings.store_clock_ahead.load(std::memory_order_relaxed);
}

void Penalties::Tick() {
  const SteadyTime turn = thread_.loop().Now();
  TakeInbox();
  AskLoops();
  CountStrikes();
  WriteOffenses();
  if (turn >= next_audit_) {
    next_audit_ = turn + kAuditInterval;
    AuditTotals();
  }
  timer_->Set(turn + kStrikeInterval);
}

void Penalties::TakeInbox() {
  std::vector<std::unique_ptr<StrikeBuffer>> buffers;
  std::optional<penalty::StrikeOutcome> outcome;
  {
    const std::lock_guard lock(inbox_->mutex);
    buffers.swap(inbox_->buffers);
    outcome.swap(inbox_->outcome);
  }
  for (auto& buffer : buffers) {
    ledger_.Add(*buffer);
    buffer->Clear();
    if (spares_.size() < workers_.size()) spares_.push_back(std::move(buffer));
  }
  totals_.strikes = ledger_.strikes();
  totals_.dropped = ledger_.dropped();
  entries_ = control_->entries().Counts().penalties;
  if (!outcome) return;
  counts_ = false;
  totals_.failed_counts += outcome->failed;
  for (Offense& offense : outcome->offenses) {
    if (offenses_.size() < kMaxWaiting) offenses_.push_back(std::move(offense));
  }
}

// A loop that has counted nothing is left alone.
void Penalties::AskLoops() {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    penalty::LoopStrikes& strikes = workers_[i]->strikes();
    if (!strikes.has_strikes()) continue;
    // Shared, since a posted function can be copied.
    auto buffer = std::make_shared<std::unique_ptr<StrikeBuffer>>();
    if (spares_.empty()) {
      *buffer = std::make_unique<StrikeBuffer>();
    } else {
      *buffer = std::move(spares_.back());
      spares_.pop_back();
    }
    loops_[i].Post([inbox = inbox_, &strikes, buffer] {
      *buffer = strikes.Exchange(std::move(*buffer));
      const std::lock_guard lock(inbox->mutex);
      inbox->buffers.push_back(std::move(*buffer));
    });
  }
}

// Strikes while a penalty lasts are not counted.
void Penalties::CountStrikes() {
  if (counts_ || ledger_.empty()) return;
  const WallTime now = StoreTime();
  std::vector<penalty::CountedStrike> strikes;
  for (penalty::Strike& strike : ledger_.Take()) {
    const auto past = control_->entries().FindPenalty(strike.offender.id);
    if (past != nullptr && past->entry.expires_at > now) continue;
    const std::uint64_t offenses = past == nullptr ? 0 : past->entry.penalty->offenses;
    strikes.push_back({.strike = std::move(strike), .offenses = offenses});
  }
  if (strikes.empty()) return;
  counts_ = true;
  const auto batch = std::make_shared<penalty::StrikeBatch>(
      std::move(strikes), [inbox = inbox_](penalty::StrikeOutcome outcome) {
        const std::lock_guard lock(inbox->mutex);
        inbox->outcome = std::move(outcome);
      });
  next_loop_ = (next_loop_ + 1) % workers_.size();
  Worker& worker = *workers_[next_loop_];
  loops_[next_loop_].Post([batch, &worker] { batch->Run(worker.limiter(), worker.now()); });
}

void Penalties::WriteOffenses() {
  if (writes_ || offenses_.empty()) return;
  writes_ = true;
  struct Written {
    std::vector<Offense> offenses;
    penalty::OffenseResult result;
  };
  const auto written = std::make_shared<Written>();
  written->offenses = std::exchange(offenses_, {});
  const penalty::OffenseWriterOptions options{.max_penalties = shared_.config.penalties.max_entries,
                                              .random = [] { return RandomId(); }};
  control_->Run(
      api::TaskKind::kRecords, thread_.loop(),
      [written, options, now = StoreTime(),
       version = api::VersionText(shared_.rules.Active())](api::ControlServices& services) {
        const penalty::OffenseWriter writer(services.records, services.entries, options);
        written->result = writer.Write(written->offenses, now, version);
      },
      [this, written](bool ran) {
        writes_ = false;
        if (!ran) {
          written->result.failed = written->offenses.size();
          written->result.error = "too many requests wait for the control store";
        }
        Take(written->result);
        if (written->result.failed == 0) ResetCounters(written->offenses);
      });
}

void Penalties::Take(const penalty::OffenseResult& result) {
  totals_.enforced += result.penalized - result.shadow;
  totals_.shadow += result.shadow;
  totals_.displaced += result.displaced;
  totals_.failed += result.failed + result.refused;
  if (result.failed > 0) {
    shared_.log.Write(shared_.lost_penalties, SteadyClock::Now(), telemetry::LogLevel::kError,
                      "penalties can't be written: callers that offend are not blocked",
                      {{"offenses", result.failed}, {"error", result.error}});
  }
  if (result.displaced > 0) {
    shared_.log.Write(shared_.displaced_penalties, SteadyClock::Now(), telemetry::LogLevel::kWarn,
                      "too many penalties: those that end next give way",
                      {{"displaced", result.displaced},
                       {"penalties.max_entries", shared_.config.penalties.max_entries}});
  }
}

// A caller whose penalty an operator removes begins anew.
void Penalties::ResetCounters(const std::vector<Offense>& offenses) {
  std::vector<KeyToReset> keys;
  for (const Offense& offense : offenses) {
    for (auto& counter :
         penalty::CountersOf({.strike = offense.strike, .offenses = offense.offenses})) {
      keys.push_back({.key = std::move(counter.key), .limit = counter.limit});
    }
  }
  if (keys.empty() || timer_ == nullptr) return;
  const auto resets = std::make_shared<KeyResets>(keys);
  Worker& worker = *workers_[next_loop_];
  loops_[next_loop_].Post([resets, &worker] { worker.ResetKeys(*resets); });
}

void Penalties::AuditTotals() {
  const std::uint64_t written = totals_.enforced.load() + totals_.shadow.load();
  if (written == audited_) return;
  control_->Audit({.author = "sluice", .authentication = "server"}, "penalty.count",
                  std::to_string(written - audited_) + " penalties in the last minute");
  audited_ = written;
}

}  // namespace sluice::server
