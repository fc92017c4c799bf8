#include "algo/state.h"

#include <array>
#include <cstddef>

#include "algo/bucket.h"
#include "algo/concurrency.h"
#include "algo/fixed_window.h"
#include "algo/sliding_counter.h"
#include "algo/sliding_log.h"

namespace sluice::algo {
namespace {

// The operations of an algorithm, as pointers: a call costs one jump through this table.
struct Table {
  decltype(&Fresh) fresh;
  decltype(&Advance) advance;
  decltype(&Left) left;
  decltype(&WaitFor) wait_for;
  decltype(&FreshAt) fresh_at;
  decltype(&RefillTime) refill_time;
  decltype(&DelayOf) delay_of;
  decltype(&Take) take;
  decltype(&Adjust) adjust;
  decltype(&AdjustableUntil) adjustable_until;
  decltype(&Commit) commit;
  decltype(&Convert) convert;
};

template <typename Operations>
constexpr Table kTable = {
    &Operations::Fresh,   &Operations::Advance,         &Operations::Left,    &Operations::WaitFor,
    &Operations::FreshAt, &Operations::RefillTime,      &Operations::DelayOf, &Operations::Take,
    &Operations::Adjust,  &Operations::AdjustableUntil, &Operations::Commit,  &Operations::Convert};

// In the order of the enum.
constexpr std::array<Table, kAlgorithmNames.size()> kTables = {
    kTable<bucket::Operations>,          kTable<bucket::Operations>,
    kTable<fixed_window::Operations>,    kTable<sliding_log::Operations>,
    kTable<sliding_counter::Operations>, kTable<concurrency::Operations>};

const Table& OperationsOf(const LimitNumbers& limit) {
  return kTables[static_cast<std::size_t>(limit.algorithm)];
}

}  // namespace

State Fresh(const LimitNumbers& limit, WallTime now) {
  return OperationsOf(limit).fresh(limit, now);
}

ClockSeen Advance(const LimitNumbers& limit, WallTime now, State& state) {
  return OperationsOf(limit).advance(limit, now, state);
}

std::int64_t Left(const LimitNumbers& limit, WallTime now, const State& state) {
  return OperationsOf(limit).left(limit, now, state);
}

Micros WaitFor(const LimitNumbers& limit, WallTime now, const State& state, std::int64_t cost) {
  return OperationsOf(limit).wait_for(limit, now, state, cost);
}

WallTime FreshAt(const LimitNumbers& limit, const State& state) {
  return OperationsOf(limit).fresh_at(limit, state);
}

Micros RefillTime(const LimitNumbers& limit) { return OperationsOf(limit).refill_time(limit); }

Micros DelayOf(const LimitNumbers& limit, const State& state) {
  return OperationsOf(limit).delay_of(limit, state);
}

void Take(const LimitNumbers& limit, State& state, std::int64_t cost, std::uint64_t slot) {
  OperationsOf(limit).take(limit, state, cost, slot);
}

void Adjust(const LimitNumbers& limit, State& state, WallTime at, std::int64_t delta) {
  OperationsOf(limit).adjust(limit, state, at, delta);
}

WallTime AdjustableUntil(const LimitNumbers& limit, WallTime at) {
  return OperationsOf(limit).adjustable_until(limit, at);
}

void Commit(const LimitNumbers& limit, State& state) { OperationsOf(limit).commit(limit, state); }

ClockSeen Convert(const LimitNumbers& from, const LimitNumbers& to, WallTime now, State& state) {
  return OperationsOf(to).convert(from, to, now, state);
}

bool HoldsSlot(const State& state, std::uint64_t slot) {
  return concurrency::Operations::Holds(state, slot);
}

bool ReleaseSlot(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  return concurrency::Operations::Release(limit, state, slot);
}

bool RenewSlot(const LimitNumbers& limit, State& state, std::uint64_t slot) {
  return concurrency::Operations::Renew(limit, state, slot);
}

}  // namespace sluice::algo
