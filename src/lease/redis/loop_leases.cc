#include "lease/redis/loop_leases.h"

#include <chrono>

namespace sluice::lease {
namespace {

constexpr Micros kSweepEvery = std::chrono::milliseconds(5);

}  // namespace

LoopLeases::LoopLeases(net::Loop& loop, store::Store& store, LeaseTable& table)
    : loop_(loop),
      table_(table),
      leased_(store, table,
              {.now = [&loop] { return loop.Now(); },
               .recall = {},
               .on_held = [this] { BeginSweeping(); }}),
      next_sweep_(loop, [this] { Sweep(); }) {}

LoopLeases::~LoopLeases() {
  if (sweeps_) table_.EndSweeping();
}

void LoopLeases::BeginSweeping() {
  if (sweeps_ || !table_.BeginSweeping()) return;
  sweeps_ = true;
  next_sweep_.Set(loop_.Now() + kSweepEvery);
}

void LoopLeases::Sweep() {
  leased_.Sweep();
  if (table_.holds_any()) return next_sweep_.Set(loop_.Now() + kSweepEvery);
  table_.EndSweeping();
  sweeps_ = false;
  // Another loop may have been given something, and have found that this one still sweeps.
  if (table_.holds_any()) BeginSweeping();
}

}  // namespace sluice::lease
