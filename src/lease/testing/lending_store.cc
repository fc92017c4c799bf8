#include "lease/testing/lending_store.h"

#include <algorithm>

namespace sluice::lease::testing {

using store::Completion;
using store::KeyUse;
using store::Operation;
using store::StoreCall;

Completion LendingStore::Submit(StoreCall& call) {
  ++calls;
  call.pending = !answers_at_once;
  if (answers_at_once) {
    Run(call);
    return Completion::kNow;
  }
  waiting_.push_back(&call);
  return Completion::kLater;
}

void LendingStore::SubmitBatch(std::span<StoreCall* const> calls_of_batch) {
  for (StoreCall* call : calls_of_batch) Submit(*call);
}

void LendingStore::Pump() {
  while (PumpOne(0)) {
  }
}

bool LendingStore::PumpOne(std::size_t which) {
  if (waiting_.empty()) return false;
  const auto chosen = waiting_.begin() + static_cast<std::ptrdiff_t>(which % waiting_.size());
  StoreCall& call = **chosen;
  waiting_.erase(chosen);
  Run(call);
  call.pending = false;
  if (call.on_done != nullptr) call.on_done(call, call.context);
  return true;
}

std::int64_t LendingStore::Left(const std::string& tag, const Limit& limit) {
  KeyUse use;
  use.key.tag = tag;
  use.limit = &limit;
  return algo::Left(limit.numbers(), now, Find(use).state);
}

LendingStore::Stored& LendingStore::Find(const KeyUse& use) {
  Stored& stored = keys_[std::string(use.key.tag)];
  const LimitNumbers& limit = use.limit->numbers();
  if (!stored.known) stored.state = algo::Fresh(limit, now);
  stored.known = true;
  algo::lease::Advance(limit, now, stored.state, stored.ledger);
  return stored;
}

void LendingStore::Check(StoreCall& call) {
  call.allowed = true;
  for (KeyUse& use : call.uses) {
    const algo::State& state = Find(use).state;
    const LimitNumbers& limit = use.limit->numbers();
    const bool fits = algo::Left(limit, now, state) >= use.cost;
    use.verdict = {.outcome = fits ? Outcome::kAllowed : Outcome::kDenied, .limit = limit.cap};
    if (!fits) use.verdict.retry_after = algo::WaitFor(limit, now, state, use.cost);
    if (!fits && use.mode == Mode::kEnforce) call.allowed = false;
  }
  for (KeyUse& use : call.uses) {
    algo::State& state = Find(use).state;
    if (call.allowed) algo::Take(use.limit->numbers(), state, use.cost, 0);
    use.verdict.remaining = std::max(algo::Left(use.limit->numbers(), now, state), std::int64_t{0});
  }
}

void LendingStore::Run(StoreCall& call) {
  call.ok = !fails;
  call.error = ErrorCode::kStoreUnavailable;
  if (fails) return;
  if (call.operation == Operation::kCheck) return Check(call);
  for (KeyUse& use : call.uses) {
    Stored& stored = Find(use);
    const LimitNumbers& limit = use.limit->numbers();
    if (call.operation == Operation::kReset) {
      algo::lease::Reset(limit, now, stored.state, stored.ledger);
    } else if (call.operation == Operation::kReturn) {
      for (const algo::lease::Report& report : use.lending->request.reports) {
        algo::lease::ApplyReport(limit, stored.state, stored.ledger, report);
      }
    } else if (call.operation == Operation::kFetch) {
      use.lending->grant =
          algo::lease::Fetch(limit, now, stored.state, stored.ledger, use.lending->request);
    }
  }
}

}  // namespace sluice::lease::testing
