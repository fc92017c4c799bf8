#include "lease/redis/redis_path.h"

#include <chrono>

#include "base/clock.h"
#include "lease/redis/announcement.h"

namespace sluice::lease {
namespace {

constexpr Micros kSweepEvery = std::chrono::milliseconds(5);

}  // namespace

RedisPath::RedisPath(net::Loop& loop, const redis::Options& options, NodeLeases& node,
                     const RedisPathOptions& path_options)
    : loop_(loop),
      options_(options),
      node_(node),
      service_(redis::MakeService(loop, options)),
      redis_store_(std::in_place, loop, *service_,
                   store::RedisStoreOptions{.deadline = path_options.deadline}),
      announcer_(loop, *service_, node.node),
      denials_(*redis_store_, node.denials,
               {.now = [] { return SteadyClock::Now(); },
                .sent = [&loop] { return loop.Now(); },
                .deadline = path_options.deadline,
                .changed =
                    [this](const Key& key) {
                      node_.table.Changed(key);
                      announcer_.Changed(key);
                    },
                .on_remembered = [this] { Listen(); },
                .wake = [this](SteadyTime when) { denial_expiry_.Set(when); }}),
      leased_(denials_, node.table,
              {.now = [] { return SteadyClock::Now(); },
               .recall = [this](const Key& key) { announcer_.Recall(key); },
               .on_held = [this] { OnHeld(); },
               .wake = [this](SteadyTime when) { leased_expiry_.Set(when); }}),
      next_sweep_(loop, [this] { Sweep(); }),
      leased_expiry_(loop, [this] { leased_.ExpireCalls(); }),
      denial_expiry_(loop, [this] { denials_.ExpireCalls(); }) {
  redis_store_->OnGivenBack(
      [&node](const Key& key) { node.denials.Drop(key, SteadyClock::Now()); });
  if (path_options.on_breaker_change) service_->OnBreakerChange(path_options.on_breaker_change);
  service_->Connect();
  if (path_options.on_heartbeat && node_.heartbeat.Take()) {
    heartbeat_.emplace(loop, *service_, path_options.on_heartbeat);
  }
}

RedisPath::~RedisPath() {
  Close();
  if (sweeps_) node_.sweeping.Leave();
  if (listener_) node_.listening.Leave();
  if (heartbeat_) node_.heartbeat.Leave();
}

void RedisPath::Close() {
  service_->Close();
  redis_store_.reset();
}

void RedisPath::OnHeld() {
  if (!sweeps_ && node_.sweeping.Take()) {
    sweeps_ = true;
    next_sweep_.Set(loop_.Now() + kSweepEvery);
  }
  Listen();
}

void RedisPath::Listen() {
  if (listener_ || !node_.listening.Take()) return;
  listener_ = std::make_unique<redis::Subscription>(
      loop_, options_, std::vector{std::string(kChannel)},
      redis::Subscriber::Events{.on_message = [this](std::string_view, std::string_view message) {
        OnAnnouncement(message);
      }});
}

void RedisPath::Sweep() {
  leased_.Sweep();
  if (node_.table.holds_any()) return next_sweep_.Set(loop_.Now() + kSweepEvery);
  sweeps_ = false;
  node_.sweeping.Leave();
  // Another loop may have been granted tokens, and have found that this one still sweeps.
  if (node_.table.holds_any()) OnHeld();
}

void RedisPath::OnAnnouncement(std::string_view message) {
  ReadAnnouncement(message, node_.node, [this](AnnouncementKind kind, const Key& key) {
    if (kind == AnnouncementKind::kRecall) {
      leased_.GiveBack(key);
    } else {
      node_.denials.Drop(key, SteadyClock::Now());
      node_.table.Changed(key);
    }
  });
}

}  // namespace sluice::lease
