#include "store/testing/questions.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include <sluice/limiter.h>

#include "algo/state.h"

namespace sluice::store::testing {

namespace {

using algo::testing::AnyAlgorithm;
using algo::testing::AnyLimit;
using algo::testing::AnyMagnitude;
using algo::testing::AnySmallLimit;

constexpr std::size_t kRememberedReceipts = 12;
/// Slots that a question names itself: few, so that they are found again.
constexpr std::uint64_t kOwnSlots = 6;
constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

/// How long it takes until something changes under the limit.
std::int64_t NaturalStep(const Limit& limit) {
  const LimitNumbers& numbers = limit.numbers();
  if (numbers.window > Micros{0}) return numbers.window.count();
  if (numbers.rate_num == 0) return Micros{std::chrono::hours(24)}.count();
  const std::int64_t step = numbers.rate_den / numbers.rate_num + 1;
  return step > kMaxWindow / numbers.interval ? kMaxWindow.count()
                                              : step * numbers.interval.count();
}

const std::string& LongTag() {
  static const std::string tag(kMaxKeyBytes + 1, 'x');
  return tag;
}

}  // namespace

Question::Question(const Question& other)
    : call(other.call),
      uses(other.uses),
      subjects(other.subjects),
      limits_(other.limits_),
      inspections_(other.inspections_) {
  PointToOwn();
}

void Question::Add(const Use& use, std::size_t subject, const Limit& limit) {
  uses.push_back(use);
  subjects.push_back(subject);
  limits_.push_back(limit);
  inspections_.emplace_back();
  PointToOwn();
}

void Question::PointToOwn() {
  call.uses = uses;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    uses[i].limit = &limits_[i];
    uses[i].inspection = &inspections_[i];
  }
}

Questioner::Questioner(algo::testing::Choices& choices, std::string scope, ClockKind clock,
                       QuestionKind kind)
    : choices_(choices), scope_(std::move(scope)), clock_(clock), kind_(kind) {
  if (choices.OneIn(2)) {
    pace_ = Micros{AnyMagnitude(choices, Micros{std::chrono::hours(24)}.count())};
  }
  // Parts that run into each other if a store glues them together.
  const std::initializer_list<std::pair<const char*, const char*>> names = {
      {"a", ""}, {"a", "b"}, {"ab", ""}, {"", "ab"}};
  for (const auto& [tag, rest] : names) {
    subjects_.push_back({tag, rest, LimitOf(AnyAlgorithm(choices))});
  }
  now_ = WallTime{Micros{choices.Between(0, kMaxTime.time_since_epoch().count())}};
}

Key Questioner::KeyOf(std::size_t subject) const {
  return {.scope = scope_, .tag = subjects_[subject].tag, .rest = subjects_[subject].rest};
}

Limit Questioner::LimitOf(Algorithm algorithm) {
  return pace_ ? AnySmallLimit(choices_, algorithm, *pace_) : AnyLimit(choices_, algorithm);
}

void Questioner::MoveOn() {
  if (clock_ == ClockKind::kBroken && choices_.OneIn(4)) {
    BreakClock();
  } else {
    MoveForward();
  }
  if (!choices_.OneIn(16)) return;
  Subject& subject = subjects_[choices_.Below(subjects_.size())];
  const bool same_algorithm = !choices_.OneIn(4);
  subject.limit = LimitOf(same_algorithm ? subject.limit.algorithm() : AnyAlgorithm(choices_));
}

std::int64_t Questioner::AnyStep() {
  return NaturalStep(subjects_[choices_.Below(subjects_.size())].limit);
}

void Questioner::MoveForward() {
  const std::int64_t step = AnyStep();
  switch (choices_.Below(8)) {
    case 0:
      now_ += Micros{step};
      break;
    case 1:
      now_ += Micros{choices_.Between(0, step)};
      break;
    case 2:
      now_ += Micros{choices_.Between(0, 4) * (step / 2)};
      break;
    case 3:
      now_ += Micros{1};
      break;
    default:
      break;
  }
  now_ = std::min(now_, kMaxTime);
}

void Questioner::BreakClock() {
  switch (choices_.Below(4)) {
    case 0:
      now_ -= Micros{choices_.Between(0, algo::kClockTolerance.count())};
      break;
    case 1:
      now_ -= algo::kClockTolerance + Micros{choices_.Between(0, 2)};
      break;
    case 2:
      now_ -= Micros{choices_.Between(0, AnyStep())};
      break;
    default:
      now_ = WallTime{Micros{choices_.Between(-5, kMaxTime.time_since_epoch().count() + 5)}};
  }
}

Operation Questioner::AnyOperation() {
  switch (choices_.Below(20)) {
    case 0:
      return Operation::kReset;
    case 1:
    case 2:
      return Operation::kGrant;
    case 3:
    case 4:
    case 5:
      return Operation::kAdjust;
    case 6:
      return Operation::kRelease;
    case 7:
      return Operation::kRenew;
    case 8:
      return Operation::kInspect;
    case 9:
      return Operation::kPeek;
    default:
      return Operation::kCheck;
  }
}

std::int64_t Questioner::AnyCost(const Limit& limit) {
  const bool counts_slots = limit.algorithm() == Algorithm::kConcurrency;
  switch (choices_.Below(16)) {
    case 0:
      return 0;
    case 1:
      return limit.cap();
    case 2:
      return limit.cap() / 2 + choices_.Between(0, 3);
    case 3:
      // What all slots hold together must stay below what is counted.
      return AnyMagnitude(choices_, counts_slots ? kMaxAmount >> 12 : kLargest);
    case 4:
    case 5:
    case 6:
      return choices_.Between(1, limit.cap() / 2 + 1);
    default:
      return choices_.Between(1, std::min<std::int64_t>(limit.cap(), 4));
  }
}

std::uint64_t Questioner::AnySlot() {
  if (!receipts_.empty() && choices_.OneIn(3)) {
    return receipts_[choices_.Below(receipts_.size())].receipt.slot;
  }
  return choices_.Below(kOwnSlots);
}

Use Questioner::AnyUse(Operation operation, std::size_t subject) {
  Use use;
  use.key = KeyOf(subject);
  use.cost = AnyCost(subjects_[subject].limit);
  use.slot = AnySlot();
  if (operation == Operation::kGrant) use.cost = std::max<std::int64_t>(use.cost, 1);
  if (operation == Operation::kCheck || operation == Operation::kPeek) {
    use.mode = choices_.OneOf({Mode::kEnforce, Mode::kEnforce, Mode::kEnforce, Mode::kEnforce,
                               Mode::kShadow, Mode::kForce, Mode::kQuota, Mode::kQuota});
    use.count_denied = choices_.OneIn(6);
    use.only_looks = choices_.OneIn(8);
  }
  return use;
}

void Questioner::AddAdjustment(Question& question) {
  Taken taken{choices_.Below(subjects_.size()), Receipt{}};
  if (!receipts_.empty()) taken = receipts_[choices_.Below(receipts_.size())];
  Use use = AnyUse(Operation::kAdjust, taken.subject);
  use.receipt = taken.receipt;
  if (choices_.OneIn(3)) use.cost = 0;
  question.Add(use, taken.subject, subjects_[taken.subject].limit);
}

void Questioner::MakeInvalid(Question& question) {
  Use& use = question.uses[choices_.Below(question.uses.size())];
  switch (choices_.Below(3)) {
    case 0:
      use.cost = -1 - choices_.Between(0, kLargest - 1);
      break;
    case 1:
      use.key.tag = LongTag();
      break;
    default:
      while (question.uses.size() <= kMaxLimitsPerCall) {
        question.Add(Use(question.uses[0]), question.subjects[0],
                     subjects_[question.subjects[0]].limit);
      }
  }
}

Question Questioner::Ask() {
  constexpr std::uint64_t kNotPlain = 500;
  return kind_ == QuestionKind::kMostlyPlain && !choices_.OneIn(kNotPlain) ? AskPlainly()
                                                                           : AskAnything();
}

Question Questioner::AskPlainly() {
  Question question(Call{.operation = Operation::kCheck, .uses = {}, .now = now_});
  const std::size_t count = choices_.OneIn(3) ? choices_.Below(3) + 1 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t subject = choices_.Below(subjects_.size());
    const Limit& limit = subjects_[subject].limit;
    if (limit.algorithm() == Algorithm::kSlidingWindowLog ||
        limit.algorithm() == Algorithm::kConcurrency) {
      continue;
    }
    Use use;
    use.key = KeyOf(subject);
    use.cost = std::max<std::int64_t>(AnyCost(limit), 1);
    question.Add(use, subject, limit);
  }
  return question;
}

Question Questioner::AskAnything() {
  const Operation operation = AnyOperation();
  Question question(Call{.operation = operation, .uses = {}, .now = now_});
  const std::size_t count = choices_.OneIn(3) ? choices_.Below(6) + 1 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (operation == Operation::kAdjust) {
      AddAdjustment(question);
    } else {
      const std::size_t subject = choices_.Below(subjects_.size());
      question.Add(AnyUse(operation, subject), subject, subjects_[subject].limit);
    }
  }
  // Other operations may be refused for the algorithm too, and one reason is as good as another.
  if (operation == Operation::kCheck && choices_.OneIn(100)) MakeInvalid(question);
  return question;
}

Question Questioner::ResetOf(std::size_t subject) const {
  Question question(Call{.operation = Operation::kReset, .uses = {}, .now = now_});
  Use use;
  use.key = KeyOf(subject);
  question.Add(use, subject, subjects_[subject].limit);
  return question;
}

void Questioner::Remember(const Question& answered) {
  if (answered.call.operation != Operation::kCheck || !answered.call.ok) return;
  for (std::size_t i = 0; i < answered.uses.size(); ++i) {
    if (answered.uses[i].receipt == Receipt{}) continue;
    receipts_.push_back({answered.subjects[i], answered.uses[i].receipt});
    if (receipts_.size() > kRememberedReceipts) receipts_.pop_front();
  }
}

}  // namespace sluice::store::testing
