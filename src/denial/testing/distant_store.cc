#include "denial/testing/distant_store.h"

#include <algorithm>
#include <utility>

namespace sluice::denial::testing {

using store::Completion;
using store::StoreCall;

Completion DistantStore::Submit(StoreCall& call) {
  ++calls;
  call.pending = true;
  under_way_.push_back({.call = &call, .submitted = now});
  return Completion::kLater;
}

void DistantStore::SubmitBatch(std::span<StoreCall* const> batch) {
  for (StoreCall* call : batch) Submit(*call);
}

void DistantStore::RunOne() {
  const auto next = std::find_if(under_way_.begin(), under_way_.end(),
                                 [](const UnderWay& one) { return !one.has_run; });
  if (next != under_way_.end()) Run(*next);
}

void DistantStore::AnswerAll() {
  while (AnswerFirst()) {
  }
}

void DistantStore::AnswerUntil(WallTime when) {
  while (!under_way_.empty() && under_way_.front().submitted <= when) AnswerFirst();
}

void DistantStore::LoseFirst() {
  if (under_way_.empty()) return;
  under_way_.front().is_lost = true;
  AnswerFirst();
}

void DistantStore::ForgetAll() { *model_ = std::make_unique<store::testing::ModelStore>(); }

void DistantStore::Run(UnderWay& one) {
  one.has_run = true;
  StoreCall& call = *one.call;
  call.now = now;
  if (fails) {
    call.ok = false;
    call.error = *fails;
    return;
  }
  model().Submit(call);
  call.pending = true;
  if (on_run) on_run(call);
}

bool DistantStore::Answer(std::size_t index) {
  if (index >= under_way_.size()) return false;
  UnderWay one = under_way_[index];
  if (!one.has_run && !one.is_lost) Run(one);
  under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(index));
  if (one.is_lost) {
    one.call->ok = false;
    one.call->error = ErrorCode::kStoreTimeout;
  }
  one.call->pending = false;
  if (one.call->on_done != nullptr) one.call->on_done(*one.call, one.call->context);
  return true;
}

void Asked::Submit(store::Store& store, std::vector<store::KeyUse> its_uses,
                   store::Operation operation, Micros timeout) {
  uses = std::move(its_uses);
  call = {.operation = operation, .uses = uses, .timeout = timeout};
  call.context = this;
  call.on_done = [](StoreCall& /*call*/, void* context) {
    ++static_cast<Asked*>(context)->times_done;
  };
  answered = store.Submit(call);
}

}  // namespace sluice::denial::testing
