#include "store/testing/random_run.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include <sluice/limiter.h>

#include "store/testing/describe.h"
#include "store/testing/model_store.h"

namespace sluice::store::testing {

namespace {

using algo::testing::AnyAlgorithm;
using algo::testing::AnyLimit;
using algo::testing::AnyMagnitude;
using algo::testing::Choices;

constexpr std::size_t kKeys = 4;
constexpr std::size_t kRememberedReceipts = 12;
constexpr std::size_t kRememberedCalls = 12;
/// What a test chooses for a slot; known ones are found again.
constexpr std::uint64_t kOwnSlots = 6;

struct Subject {
  std::string tag;
  std::string rest;
  Limit limit;
};

struct Taken {
  std::size_t subject;
  Receipt receipt;
};

/// One call with all that it points to.
class Question {
 public:
  explicit Question(const Call& asked) : call(asked) {}
  Question(const Question& other);
  Question& operator=(const Question&) = delete;

  void Add(const Use& use, std::size_t subject, const Limit& limit);

  Call call;
  std::vector<Use> uses;
  std::vector<std::size_t> subjects;  ///< Whose key each use is about.

 private:
  void PointToOwn();

  std::vector<Limit> limits_;
  std::vector<Inspection> inspections_;
};

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

class Run {
 public:
  Run(Driver& driver, Choices& choices, const RunOptions& options);

  std::optional<std::string> Step();

 private:
  void MoveClock();
  void ChangeLimits();
  Question Ask();
  Operation AnyOperation();
  Use AnyUse(Operation operation, std::size_t subject);
  std::int64_t AnyCost(const Limit& limit);
  void AnyMode(Use& use);
  std::uint64_t AnySlot();
  void AddAdjustment(Question& question);
  void MakeInvalid(Question& question);
  std::string History() const;
  void Remember(const Question& answered);

  Driver& driver_;
  Choices& choices_;
  const RunOptions& options_;
  ModelStore model_;
  std::vector<Subject> subjects_;
  std::deque<Taken> receipts_;
  std::deque<Question> last_calls_;
  WallTime now_;
  std::string long_tag_ = std::string(4097, 'x');
};

Run::Run(Driver& driver, Choices& choices, const RunOptions& options)
    : driver_(driver), choices_(choices), options_(options) {
  // Parts that run into each other if a store glues them together.
  const std::array<std::pair<const char*, const char*>, kKeys> names = {
      {{"a", ""}, {"a", "b"}, {"ab", ""}, {"", "ab"}}};
  for (const auto& [tag, rest] : names) {
    subjects_.push_back({tag, rest, AnyLimit(choices, AnyAlgorithm(choices))});
  }
  now_ = WallTime{Micros{choices.Between(0, kMaxTime.time_since_epoch().count())}};
}

/// How long it takes until something changes under the limit.
std::int64_t NaturalStep(const Limit& limit) {
  const LimitNumbers& numbers = limit.numbers();
  if (numbers.window > Micros{0}) return numbers.window.count();
  if (numbers.rate_num == 0) return Micros{std::chrono::hours(24)}.count();
  const std::int64_t step = numbers.rate_den / numbers.rate_num + 1;
  return step > kMaxWindow / numbers.interval ? kMaxWindow.count()
                                              : step * numbers.interval.count();
}

void Run::MoveClock() {
  const std::int64_t step = NaturalStep(subjects_[choices_.Below(kKeys)].limit);
  std::int64_t by = 0;
  switch (choices_.Below(16)) {
    case 0:
      by = -choices_.Between(0, algo::kClockTolerance.count());
      break;
    case 1:
      by = -algo::kClockTolerance.count() - choices_.Between(0, 2);
      break;
    case 2:
      by = -choices_.Between(0, step);
      break;
    case 3:
      now_ = WallTime{Micros{choices_.Between(-5, kMaxTime.time_since_epoch().count() + 5)}};
      break;
    case 4:
    case 5:
      by = step;
      break;
    case 6:
    case 7:
    case 8:
      by = choices_.Between(0, step);
      break;
    case 9:
      by = choices_.Between(0, 4) * (step / 2);
      break;
    case 10:
    case 11:
      by = 1;
      break;
    default:
      break;
  }
  now_ += Micros{by};
}

void Run::ChangeLimits() {
  if (!choices_.OneIn(16)) return;
  Subject& subject = subjects_[choices_.Below(kKeys)];
  const bool same = !choices_.OneIn(4);
  subject.limit =
      AnyLimit(choices_, same ? subject.limit.algorithm() : AnyAlgorithm(choices_));
}

Operation Run::AnyOperation() {
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

std::int64_t Run::AnyCost(const Limit& limit) {
  const bool counts_slots = limit.algorithm() == Algorithm::kConcurrency;
  switch (choices_.Below(16)) {
    case 0:
      return 0;
    case 1:
      return limit.cap();
    case 2:
      return std::min(limit.cap(), kMaxAmount / 2) + choices_.Between(0, 3);
    case 3:
      // Slots together must stay below what is counted.
      return AnyMagnitude(choices_, counts_slots ? kMaxAmount >> 12
                                                 : std::numeric_limits<std::int64_t>::max());
    case 4:
    case 5:
    case 6:
      return choices_.Between(1, limit.cap() / 2 + 1);
    default:
      return choices_.Between(1, std::min<std::int64_t>(limit.cap(), 4));
  }
}

void Run::AnyMode(Use& use) {
  use.mode = choices_.OneOf({Mode::kEnforce, Mode::kEnforce, Mode::kEnforce, Mode::kEnforce,
                             Mode::kShadow, Mode::kForce});
  use.count_denied = choices_.OneIn(6);
}

std::uint64_t Run::AnySlot() {
  if (!receipts_.empty() && choices_.OneIn(3)) {
    return receipts_[choices_.Below(receipts_.size())].receipt.slot;
  }
  return choices_.Below(kOwnSlots);
}

Use Run::AnyUse(Operation operation, std::size_t index) {
  const Subject& subject = subjects_[index];
  Use use;
  use.key = {.scope = options_.scope, .tag = subject.tag, .rest = subject.rest};
  use.cost = AnyCost(subject.limit);
  if (operation == Operation::kGrant && use.cost == 0) use.cost = 1;
  if (operation == Operation::kCheck || operation == Operation::kPeek) AnyMode(use);
  use.slot = AnySlot();
  return use;
}

void Run::AddAdjustment(Question& question) {
  Taken taken{choices_.Below(kKeys), Receipt{}};
  if (!receipts_.empty()) taken = receipts_[choices_.Below(receipts_.size())];
  Use use = AnyUse(Operation::kAdjust, taken.subject);
  use.receipt = taken.receipt;
  if (choices_.OneIn(3)) use.cost = 0;
  question.Add(use, taken.subject, subjects_[taken.subject].limit);
}

void Run::MakeInvalid(Question& question) {
  const std::size_t index = choices_.Below(question.uses.size());
  Use& use = question.uses[index];
  switch (choices_.Below(3)) {
    case 0:
      use.cost = -1 - choices_.Between(0, std::numeric_limits<std::int64_t>::max() - 1);
      break;
    case 1:
      use.key.tag = long_tag_;
      break;
    default:
      while (question.uses.size() <= kMaxLimitsPerCall) {
        question.Add(Use(question.uses[0]), question.subjects[0],
                     subjects_[question.subjects[0]].limit);
      }
  }
}

Question Run::Ask() {
  const Operation operation = AnyOperation();
  Question question(Call{.operation = operation, .uses = {}, .now = now_});
  const std::size_t count = choices_.OneIn(3) ? choices_.Below(6) + 1 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (operation == Operation::kAdjust) {
      AddAdjustment(question);
    } else {
      const std::size_t subject = choices_.Below(kKeys);
      question.Add(AnyUse(operation, subject), subject, subjects_[subject].limit);
    }
  }
  // Other operations may be refused for the algorithm too, and one reason is as good as another.
  if (operation == Operation::kCheck && choices_.OneIn(100)) MakeInvalid(question);
  return question;
}

/// What a store must overwrite.
void SoilAnswers(Question& question) {
  question.call.allowed = true;
  question.call.affected = 77;
  for (Use& use : question.uses) {
    use.verdict = {.remaining = -5, .retry_after = Micros{5}, .delay = Micros{5}};
    if (question.call.operation != Operation::kAdjust) use.receipt = {.amount = -5, .at = {}};
  }
}

/// Any id will do for a slot that the store may choose.
void AdoptSlots(const Question& answered, Question& question) {
  if (question.call.operation != Operation::kCheck) return;
  for (std::size_t i = 0; i < question.uses.size(); ++i) {
    if (question.uses[i].slot == 0) question.uses[i].slot = answered.uses[i].receipt.slot;
  }
}

std::string Run::History() const {
  std::string text;
  for (const Question& question : last_calls_) text += DescribeCall(question.call);
  return text;
}

void Run::Remember(const Question& answered) {
  last_calls_.push_back(answered);
  if (last_calls_.size() > kRememberedCalls) last_calls_.pop_front();
  if (answered.call.operation != Operation::kCheck || !answered.call.ok) return;
  for (std::size_t i = 0; i < answered.uses.size(); ++i) {
    if (answered.uses[i].receipt == Receipt{}) continue;
    receipts_.push_back({answered.subjects[i], answered.uses[i].receipt});
    if (receipts_.size() > kRememberedReceipts) receipts_.pop_front();
  }
}

std::optional<std::string> Run::Step() {
  MoveClock();
  ChangeLimits();
  Question question = Ask();
  Question answered = question;
  SoilAnswers(answered);
  driver_.Run(answered.call);
  AdoptSlots(answered, question);
  model_.Submit(question.call);

  Remember(answered);
  const std::string difference = DescribeDifference(answered.call, question.call);
  if (difference.empty()) return std::nullopt;
  return History() + "the last answer differs from the model's (store, model): " + difference;
}

}  // namespace

std::optional<std::string> RunAgainstModel(Driver& driver, Choices& choices,
                                           const RunOptions& options) {
  Run run(driver, choices, options);
  for (int step = 0; step < options.steps && !choices.exhausted(); ++step) {
    if (auto difference = run.Step()) {
      return "step " + std::to_string(step) + "\n" + *difference;
    }
  }
  return std::nullopt;
}

}  // namespace sluice::store::testing
