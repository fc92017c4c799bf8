#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "store/store.h"
#include "store/testing/model_store.h"

namespace sluice::api::testing {

/// A store that can be configured to complete calls later, or to fail them.
class DelayedStore final : public store::Store {
 public:
  store::Completion Submit(store::StoreCall& call) override {
    ++submitted_;
    last_timeout = call.timeout;
    if (!answers_later) return CompleteNow(call);
    call.pending = true;
    waiting_.push_back(&call);
    return store::Completion::kLater;
  }
  void SubmitBatch(std::span<store::StoreCall* const> calls) override {
    if (!calls.empty()) batches.push_back(calls.size());
    for (store::StoreCall* call : calls) Submit(*call);
  }
  /// Completes up to `count` waiting calls, in order or in reverse.
  void Answer(std::size_t count, bool last_first = false) {
    for (; count > 0 && !waiting_.empty(); --count) {
      store::StoreCall& call = last_first ? *waiting_.back() : *waiting_.front();
      last_first ? waiting_.pop_back() : waiting_.pop_front();
      CompleteNow(call);
      call.on_done(call, call.context);
    }
  }
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }
  /// Returns how many calls were submitted.
  [[nodiscard]] std::size_t submitted() const { return submitted_; }

  bool answers_later = false;
  std::optional<ErrorCode> failure;
  std::vector<std::size_t> batches;  ///< The size of each.
  Micros last_timeout{0};            ///< Of the call submitted last; 0: it had none of its own.

 private:
  store::Completion CompleteNow(store::StoreCall& call) {
    call.pending = false;
    if (!failure) return model_.Submit(call);
    call.ok = false;
    call.error = *failure;
    return store::Completion::kNow;
  }

  store::testing::ModelStore model_;
  std::deque<store::StoreCall*> waiting_;
  std::size_t submitted_ = 0;
};

}  // namespace sluice::api::testing
