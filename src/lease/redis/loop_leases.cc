#include "lease/redis/loop_leases.h"

#include <chrono>

#include "base/clock.h"
#include "lease/redis/announcement.h"

namespace sluice::lease {
namespace {

constexpr Micros kSweepEvery = std::chrono::milliseconds(5);

}  // namespace

LoopLeases::LoopLeases(net::Loop& loop, redis::Service& service, const redis::Options& options,
                       store::Store& store, NodeLeases& node)
    : loop_(loop),
      options_(options),
      node_(node),
      announcer_(loop, service, node.node),
      leased_(store, node.table,
              {.now = [] { return SteadyClock::Now(); },
               .recall = [this](const Key& key) { announcer_.Recall(key); },
               .changed = [this](const Key& key) { announcer_.Changed(key); },
               .on_held = [this] { OnHeld(); },
               .wake = [this](SteadyTime when) { next_give_up_.Set(when); }}),
      next_sweep_(loop, [this] { Sweep(); }),
      next_give_up_(loop, [this] { leased_.GiveUp(); }) {}

LoopLeases::~LoopLeases() {
  if (sweeps_) node_.sweeping.Leave();
  if (listener_) node_.listening.Leave();
}

void LoopLeases::OnHeld() {
  if (!sweeps_ && node_.sweeping.Take()) {
    sweeps_ = true;
    next_sweep_.Set(loop_.Now() + kSweepEvery);
  }
  if (!listener_ && node_.listening.Take()) {
    listener_ = std::make_unique<Listener>(loop_, options_,
                                           [this](std::string_view message) { Hear(message); });
  }
}

void LoopLeases::Sweep() {
  leased_.Sweep();
  if (node_.table.holds_any()) return next_sweep_.Set(loop_.Now() + kSweepEvery);
  sweeps_ = false;
  node_.sweeping.Leave();
  // Another loop may have been given something, and have found that this one still sweeps.
  if (node_.table.holds_any()) OnHeld();
}

void LoopLeases::Hear(std::string_view message) {
  ReadAnnouncement(message, node_.node, [this](News news, const Key& key) {
    if (news == News::kRecall) {
      leased_.GiveBack(key);
    } else {
      node_.table.Changed(key);
    }
  });
}

}  // namespace sluice::lease
