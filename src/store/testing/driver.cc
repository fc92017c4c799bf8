#include "store/testing/driver.h"

#include <cstddef>

namespace sluice::store::testing {

namespace {

/// Counts the calls that are done; those that are answered at once never run it.
void CountDone(StoreCall& /*call*/, void* context) { ++*static_cast<std::size_t*>(context); }

}  // namespace

void Driver::Run(StoreCall& call) {
  std::size_t done = 0;
  call.on_done = CountDone;
  call.context = &done;
  SetNow(call.now);
  if (store().Submit(call) == Completion::kNow) return;
  while (done == 0) Pump();
}

void Driver::RunBatch(std::span<StoreCall* const> calls) {
  if (calls.empty()) return;
  SetNow(calls.front()->now);
  store().SubmitBatch(calls);
}

}  // namespace sluice::store::testing
