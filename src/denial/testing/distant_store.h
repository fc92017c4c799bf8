#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "store/store.h"
#include "store/testing/model_store.h"

namespace sluice::denial::testing {

/// The judge of the stores, behind a network: calls run and are answered when the test says so.
class DistantStore final : public store::Store {
 public:
  store::Completion Submit(store::StoreCall& call) override;
  void SubmitBatch(std::span<store::StoreCall* const> batch) override;

  /// Runs the oldest call that has not run; its answer is on its way.
  void RunOne();
  /// Answers the oldest call, which runs now unless it has. False: there is none.
  bool AnswerFirst() { return Answer(0); }
  bool AnswerLast() { return Answer(under_way_.size() - 1); }
  void AnswerAll();
  /// Answers those that were submitted at `when` or before.
  void AnswerUntil(WallTime when);
  /// The oldest call gets no answer in time. It has run, or never will.
  void LoseFirst();
  [[nodiscard]] bool FirstHasRun() const {
    return !under_way_.empty() && under_way_.front().has_run;
  }

  /// All keys are as if never used.
  void ForgetAll();
  /// Leads to the same keys as the other one from now on.
  void ShareKeysOf(const DistantStore& other) { model_ = other.model_; }
  store::Store& model() { return **model_; }

  WallTime now{std::chrono::hours(500'000)};
  std::optional<ErrorCode> fails;
  int calls = 0;
  /// Called after every call that has run.
  std::function<void(const store::StoreCall&)> on_run;

 private:
  using Model = std::unique_ptr<store::testing::ModelStore>;
  struct UnderWay {
    store::StoreCall* call;
    WallTime submitted{};
    bool has_run = false;
    bool is_lost = false;
  };

  void Run(UnderWay& one);
  bool Answer(std::size_t index);

  std::deque<UnderWay> under_way_;
  std::shared_ptr<Model> model_ =
      std::make_shared<Model>(std::make_unique<store::testing::ModelStore>());
};

/// A call with all that it points to. It must stay where it is until it is answered.
struct Asked {
  std::vector<store::KeyUse> uses;
  store::StoreCall call;
  store::Completion answered{};
  int times_done = 0;

  void Submit(store::Store& store, std::vector<store::KeyUse> its_uses, store::Operation operation,
              Micros timeout);
  [[nodiscard]] bool at_once() const { return answered == store::Completion::kNow; }
  [[nodiscard]] bool allowed() const { return call.ok && call.allowed; }
};

}  // namespace sluice::denial::testing
