#include "store/testing/random_run.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "store/testing/describe.h"
#include "store/testing/model_store.h"
#include "store/testing/questions.h"

namespace sluice::store::testing {

namespace {

using algo::testing::Choices;

constexpr std::size_t kRememberedCalls = 30;
constexpr std::size_t kLargestBatch = 40;

/// What a store must overwrite.
void SoilAnswers(Question& question) {
  question.call.allowed = true;
  question.call.affected = 77;
  for (KeyUse& use : question.uses) {
    use.verdict = {.remaining = -5, .retry_after = Micros{5}, .delay = Micros{5}};
    if (use.settlement != nullptr) {
      use.settlement->total = -5;
      use.settlement->charged = -5;
      use.settlement->repeated = true;
    }
    if (question.call.operation == Operation::kAdjust) continue;
    const bool grants = question.call.operation == Operation::kGrant;
    use.receipt = {.amount = -5, .grant_expires = grants ? use.receipt.grant_expires : kMaxTime};
  }
}

/// Any id will do for a slot that the store may choose.
void AdoptSlots(const Question& answered, Question& question) {
  if (question.call.operation != Operation::kCheck) return;
  for (std::size_t i = 0; i < question.uses.size(); ++i) {
    if (question.uses[i].slot == 0) question.uses[i].slot = answered.uses[i].receipt.slot;
  }
}

/// Whether the call had no room, and says for which key.
bool IsFull(const StoreCall& call) {
  return !call.ok && call.error == ErrorCode::kStoreFull &&
         std::any_of(call.uses.begin(), call.uses.end(),
                     [](const KeyUse& use) { return use.no_room; });
}

/// The latest calls, printed when a check fails.
class Tale {
 public:
  void Add(const Question& answered) {
    calls_.push_back(answered);
    if (calls_.size() > kRememberedCalls) calls_.pop_front();
  }

  [[nodiscard]] std::string Tell(const std::string& difference) const {
    std::string text;
    for (const Question& question : calls_) text += DescribeCall(question.call);
    return text + "the last answer should be another (found, expected): " + difference;
  }

 private:
  std::deque<Question> calls_;
};

/// After a clock was set back a store may know more or less of a key than the model does.
void ForgetWhatMayBeForgotten(const Questioner& questioner, Driver& driver, ModelStore& model) {
  for (std::size_t i = 0; i < questioner.subject_count(); ++i) {
    if (!model.MayBeForgotten(questioner.KeyOf(i), questioner.now())) continue;
    Question reset = questioner.ResetOf(i);
    driver.Run(reset.call);
    model.Submit(reset.call);
  }
}

}  // namespace

std::optional<std::string> RunAgainstModel(Driver& driver, Choices& choices,
                                           const RunOptions& options) {
  ModelStore model;
  Questioner questioner(choices, options.scope,
                        options.may_be_full ? ClockKind::kForward : ClockKind::kBroken,
                        options.kind);
  Tale tale;
  for (int step = 0; step < options.steps && !choices.exhausted(); ++step) {
    questioner.MoveOn();
    ForgetWhatMayBeForgotten(questioner, driver, model);
    Question expected = questioner.Ask();
    Question found = expected;
    SoilAnswers(found);
    driver.Run(found.call);
    if (options.may_be_full && IsFull(found.call)) continue;
    AdoptSlots(found, expected);
    model.Submit(expected.call);

    tale.Add(found);
    const std::string difference = DescribeDifference(found.call, expected.call);
    if (!difference.empty()) return tale.Tell(difference);
    questioner.Remember(found);
  }
  return std::nullopt;
}

std::optional<std::string> RunBatchesAgainstSingles(Driver& batches, Driver& singles,
                                                    Choices& choices, const RunOptions& options) {
  Questioner questioner(choices, options.scope, ClockKind::kForward, options.kind);
  Tale tale;
  for (int step = 0; step < options.steps && !choices.exhausted(); ++step) {
    questioner.MoveOn();
    std::deque<Question> found;
    std::deque<Question> expected;
    std::vector<StoreCall*> calls;
    for (std::size_t left = choices.Below(kLargestBatch) + 1; left > 0; --left) {
      expected.push_back(questioner.Ask());
      found.push_back(expected.back());
      calls.push_back(&found.back().call);
    }
    batches.RunBatch(calls);
    for (std::size_t i = 0; i < found.size(); ++i) {
      AdoptSlots(found[i], expected[i]);
      singles.Run(expected[i].call);
      tale.Add(found[i]);
      const std::string difference = DescribeDifference(found[i].call, expected[i].call);
      if (!difference.empty()) return tale.Tell(difference);
      questioner.Remember(found[i]);
    }
  }
  return std::nullopt;
}

}  // namespace sluice::store::testing
