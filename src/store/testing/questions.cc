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
constexpr std::size_t kReceiptsOfCrowd = 300;
constexpr std::uint64_t kSlotsOfCrowd = 500;
constexpr Micros kPaceOfCrowd = std::chrono::seconds(2);
constexpr std::size_t kManyKeys = 500;
constexpr std::uint64_t kUsesOfManyKeys = 40;
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

bool Supports(Operation operation, const Limit& limit) {
  const bool is_concurrency = limit.algorithm() == Algorithm::kConcurrency;
  switch (operation) {
    case Operation::kGrant:
    case Operation::kAdjust:
      return !is_concurrency;
    case Operation::kRelease:
    case Operation::kRenew:
      return is_concurrency;
    default:
      return true;
  }
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
      inspections_(other.inspections_),
      settlements_(other.settlements_) {
  PointToOwn();
}

void Question::Add(const KeyUse& use, std::size_t subject, const Limit& limit) {
  uses.push_back(use);
  subjects.push_back(subject);
  limits_.push_back(limit);
  inspections_.emplace_back();
  settlements_.emplace_back();
  PointToOwn();
}

void Question::SetSettlement(const Settlement& settlement) {
  settlements_.back() = settlement;
  PointToOwn();
}

void Question::PointToOwn() {
  call.uses = uses;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    uses[i].limit = &limits_[i];
    uses[i].inspection = &inspections_[i];
    uses[i].settlement = settlements_[i] ? &*settlements_[i] : nullptr;
  }
}

Questioner::Questioner(algo::testing::Choices& choices, std::string scope, ClockKind clock,
                       QuestionKind kind)
    : choices_(choices), scope_(std::move(scope)), clock_(clock), kind_(kind) {
  if (!crowded() && (has_many_keys() || choices.OneIn(2))) {
    pace_ = Micros{AnyMagnitude(choices, Micros{std::chrono::hours(24)}.count())};
  }
  // Parts that run into each other if a store glues them together.
  const std::initializer_list<std::pair<const char*, const char*>> names = {
      {"a", ""}, {"a", "b"}, {"ab", ""}, {"", "ab"}};
  for (const auto& [tag, rest] : names) {
    subjects_.push_back(
        {tag, rest, crowded() ? AnyCrowdedLimit() : LimitOf(AnyAlgorithm(choices))});
  }
  while (has_many_keys() && subjects_.size() < kManyKeys) {
    subjects_.push_back({"many", std::to_string(subjects_.size()), LimitOf(AnyAlgorithm(choices))});
  }
  now_ = WallTime{Micros{choices.Between(0, kMaxTime.time_since_epoch().count())}};
}

Key Questioner::KeyOf(std::size_t subject) const {
  return {.scope = scope_, .tag = subjects_[subject].tag, .rest = subjects_[subject].rest};
}

Limit Questioner::LimitOf(Algorithm algorithm) {
  return pace_ ? AnySmallLimit(choices_, algorithm, *pace_) : AnyLimit(choices_, algorithm);
}

Limit Questioner::AnyCrowdedLimit() {
  const std::int64_t most = choices_.Between(300, 3000);
  const Micros period = kPaceOfCrowd * choices_.Between(1, 4) + Micros{choices_.Between(0, 99)};
  return choices_.OneIn(2) ? *Limit::SlidingWindowLog({.limit = most, .window = period})
                           : *Limit::Concurrency({.limit = most, .time_to_live = period});
}

// Steps are short enough for entries to gather; now and then many of them are over at once.
void Questioner::MoveOnInCrowd() {
  if (clock_ == ClockKind::kBroken && choices_.OneIn(400)) {
    now_ -= Micros{choices_.Between(0, 2 * kPaceOfCrowd.count())};
  } else if (choices_.OneIn(250)) {
    now_ += Micros{choices_.Between(0, 2 * kPaceOfCrowd.count())};
  } else if (!choices_.OneIn(4)) {
    now_ += Micros{choices_.Between(1, kPaceOfCrowd.count() / 200)};
  }
  now_ = std::min(now_, kMaxTime);
  if (!choices_.OneIn(400)) return;
  Subject& subject = subjects_[choices_.Below(subjects_.size())];
  const Algorithm before = subject.limit.algorithm();
  do {
    subject.limit = AnyCrowdedLimit();
  } while (subject.limit.algorithm() != before);
}

void Questioner::MoveOn() {
  if (crowded()) return MoveOnInCrowd();
  if (clock_ == ClockKind::kBroken && choices_.OneIn(4)) {
    BreakClock();
  } else {
    MoveForward();
  }
  was_at_end_ = was_at_end_ || now_ >= kMaxTime;
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
  // A crowd that is sent home twice in a hundred calls never gets large.
  if (crowded() && choices_.OneIn(2)) return Operation::kCheck;
  switch (choices_.Below(20)) {
    case 0:
      return crowded() && !choices_.OneIn(50) ? Operation::kPeek : Operation::kReset;
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
  // One of dozens of limits that denies a call denies it for all.
  if (has_many_keys() && !choices_.OneIn(200)) return choices_.Between(0, 2);
  if (crowded() && !choices_.OneIn(10)) return choices_.Between(1, choices_.OneIn(4) ? 12 : 2);
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
  return choices_.Below(crowded() ? kSlotsOfCrowd : kOwnSlots);
}

KeyUse Questioner::AnyUse(Operation operation, std::size_t subject) {
  KeyUse use;
  use.key = KeyOf(subject);
  use.cost = AnyCost(subjects_[subject].limit);
  use.slot = AnySlot();
  if (operation == Operation::kGrant) {
    use.cost = std::max<std::int64_t>(use.cost, 1);
    if (choices_.OneIn(2)) {
      use.receipt.grant_expires = std::min(
          now_ + Micros{choices_.Between(0, std::min(AnyStep(), kMaxWindow.count()))}, kMaxTime);
    }
  }
  if (operation == Operation::kCheck || operation == Operation::kPeek) {
    use.mode = choices_.OneOf({Mode::kEnforce, Mode::kEnforce, Mode::kEnforce, Mode::kEnforce,
                               Mode::kShadow, Mode::kForce, Mode::kQuota, Mode::kQuota});
    if (has_many_keys() && !choices_.OneIn(4)) use.mode = Mode::kForce;
    use.count_denied = choices_.OneIn(6);
    use.only_looks = choices_.OneIn(8);
  }
  return use;
}

void Questioner::AddAdjustment(Question& question) {
  Taken taken{choices_.Below(subjects_.size()), Receipt{}};
  if (!receipts_.empty()) taken = receipts_[choices_.Below(receipts_.size())];
  // Also of keys that are not there: some are emptied and others added in one call.
  if (has_many_keys() &&
      (!Supports(Operation::kAdjust, subjects_[taken.subject].limit) || choices_.OneIn(2))) {
    taken = {AnySubjectFor(Operation::kAdjust), Receipt{.amount = 0, .at = now_}};
  }
  KeyUse use = AnyUse(Operation::kAdjust, taken.subject);
  use.receipt = taken.receipt;
  if (choices_.OneIn(3) || (has_many_keys() && use.receipt.amount > 0)) use.cost = 0;
  question.Add(use, taken.subject, subjects_[taken.subject].limit);
  if (taken.settlement.receipt == 0 || was_at_end_ || choices_.OneIn(3)) return;
  Settlement settlement = taken.settlement;
  settlement.step = choices_.OneOf({SettlementStep::kFinal, SettlementStep::kPartial,
                                    SettlementStep::kPartial, SettlementStep::kMove});
  question.SetSettlement(settlement);
}

// Where a clock may be set back nothing expires: a store may or may not have forgotten it.
Settlement Questioner::NewSettlement() {
  Settlement settlement{.receipt = ++last_receipt_, .expires = kMaxTime};
  if (clock_ == ClockKind::kForward) {
    settlement.expires = std::min(
        now_ + Micros{choices_.Between(0, std::min(AnyStep(), kMaxWindow.count()))}, kMaxTime);
  }
  return settlement;
}

void Questioner::MakeInvalid(Question& question) {
  KeyUse& use = question.uses[choices_.Below(question.uses.size())];
  switch (choices_.Below(3)) {
    case 0:
      use.cost = -1 - choices_.Between(0, kLargest - 1);
      break;
    case 1:
      use.key.tag = LongTag();
      break;
    default:
      while (question.uses.size() <= kMaxLimitsPerCall) {
        question.Add(KeyUse(question.uses[0]), question.subjects[0],
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
  Question question(StoreCall{.operation = Operation::kCheck, .uses = {}, .now = now_});
  const std::size_t count = choices_.OneIn(3) ? choices_.Below(3) + 1 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t subject = choices_.Below(subjects_.size());
    const Limit& limit = subjects_[subject].limit;
    if (limit.algorithm() == Algorithm::kSlidingWindowLog ||
        limit.algorithm() == Algorithm::kConcurrency) {
      continue;
    }
    KeyUse use;
    use.key = KeyOf(subject);
    use.cost = std::max<std::int64_t>(AnyCost(limit), 1);
    question.Add(use, subject, limit);
  }
  return question;
}

// Among few keys any of them, also for operations that its limit does not support. A call over
// dozens of limits would nearly always be refused then.
std::size_t Questioner::AnySubjectFor(Operation operation) {
  while (true) {
    const std::size_t subject = choices_.Below(subjects_.size());
    if (!has_many_keys() || choices_.exhausted()) return subject;
    if (Supports(operation, subjects_[subject].limit)) return subject;
  }
}

std::size_t Questioner::AnyUseCount() {
  if (has_many_keys()) return choices_.Below(kUsesOfManyKeys) + 1;
  return choices_.OneIn(3) ? choices_.Below(6) + 1 : 1;
}

Question Questioner::AskAnything() {
  const Operation operation = AnyOperation();
  Question question(StoreCall{.operation = operation, .uses = {}, .now = now_});
  const std::size_t count = AnyUseCount();
  for (std::size_t i = 0; i < count; ++i) {
    if (operation == Operation::kAdjust) {
      AddAdjustment(question);
    } else {
      const std::size_t subject = AnySubjectFor(operation);
      question.Add(AnyUse(operation, subject), subject, subjects_[subject].limit);
    }
  }
  // Over several slots of a cluster, each key is refused for itself.
  if (operation == Operation::kAdjust && count == 1 && question.uses[0].settlement != nullptr &&
      choices_.OneIn(2)) {
    question.uses[0].settlement->max_per_key = 3;
  }
  // Other operations may be refused for the algorithm too, and one reason is as good as another.
  if (operation == Operation::kCheck && choices_.OneIn(100)) MakeInvalid(question);
  return question;
}

Question Questioner::ResetOf(std::size_t subject) const {
  Question question(StoreCall{.operation = Operation::kReset, .uses = {}, .now = now_});
  KeyUse use;
  use.key = KeyOf(subject);
  question.Add(use, subject, subjects_[subject].limit);
  return question;
}

void Questioner::Remember(const Question& answered) {
  if (answered.call.operation != Operation::kCheck || !answered.call.ok) return;
  for (std::size_t i = 0; i < answered.uses.size(); ++i) {
    if (answered.uses[i].receipt == Receipt{}) continue;
    receipts_.push_back({answered.subjects[i], answered.uses[i].receipt, NewSettlement()});
    const std::size_t most = crowded() || has_many_keys() ? kReceiptsOfCrowd : kRememberedReceipts;
    if (receipts_.size() > most) receipts_.pop_front();
  }
}

}  // namespace sluice::store::testing
