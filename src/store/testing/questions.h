#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "algo/testing/choices.h"
#include "store/store.h"

namespace sluice::store::testing {

/// One call with all that it points to.
class Question {
 public:
  explicit Question(const StoreCall& asked) : call(asked) {}
  Question(const Question& other);
  Question& operator=(const Question&) = delete;

  void Add(const KeyUse& use, std::size_t subject, const Limit& limit);
  /// The use added last settles a receipt.
  void SetSettlement(const Settlement& settlement);

  StoreCall call;
  std::vector<KeyUse> uses;
  std::vector<std::size_t> subjects;  ///< Whose key each use is about.

 private:
  void PointToOwn();

  std::vector<Limit> limits_;
  std::vector<Inspection> inspections_;
  std::vector<std::optional<Settlement>> settlements_;
};

/// What a clock may do in a run.
enum class ClockKind : std::uint8_t {
  kForward,
  kBroken,  ///< Forward mostly; else behind by a little, set back, or anywhere.
};

/// What is asked in a run.
enum class QuestionKind : std::uint8_t {
  kAny,
  kMostlyPlain,  ///< Nearly always enforced checks of buckets and windows.
  kCrowded,      ///< Logs and concurrency limits with hundreds of entries of different costs.
  kManyKeys,     ///< Calls over dozens of limits, of hundreds of keys that come and go.
};

/// Makes up questions about some keys whose limits change, at times that a broken clock tells.
class Questioner {
 public:
  Questioner(algo::testing::Choices& choices, std::string scope, ClockKind clock,
             QuestionKind kind);

  /// To the next moment, at which some limits may have changed.
  void MoveOn();
  Question Ask();
  /// Lets later questions be about what was taken.
  void Remember(const Question& answered);
  [[nodiscard]] Question ResetOf(std::size_t subject) const;

  [[nodiscard]] WallTime now() const { return now_; }
  [[nodiscard]] std::size_t subject_count() const { return subjects_.size(); }
  [[nodiscard]] Key KeyOf(std::size_t subject) const;

 private:
  struct Subject {
    std::string tag;
    std::string rest;
    Limit limit;
  };

  struct Taken {
    std::size_t subject;
    Receipt receipt;
    Settlement settlement{};
  };

  void MoveForward();
  void BreakClock();
  Limit LimitOf(Algorithm algorithm);
  Limit AnyCrowdedLimit();
  void MoveOnInCrowd();
  std::int64_t AnyStep();
  Operation AnyOperation();
  std::int64_t AnyCost(const Limit& limit);
  std::uint64_t AnySlot();
  [[nodiscard]] bool crowded() const { return kind_ == QuestionKind::kCrowded; }
  [[nodiscard]] bool has_many_keys() const { return kind_ == QuestionKind::kManyKeys; }
  std::size_t AnyUseCount();
  std::size_t AnySubjectFor(Operation operation);
  KeyUse AnyUse(Operation operation, std::size_t subject);
  Question AskAnything();
  Question AskPlainly();
  void AddAdjustment(Question& question);
  Settlement NewSettlement();
  void MakeInvalid(Question& question);

  algo::testing::Choices& choices_;
  const std::string scope_;
  const ClockKind clock_;
  const QuestionKind kind_;
  std::optional<Micros> pace_;  ///< If set, all limits change at about this pace.
  std::vector<Subject> subjects_;
  std::deque<Taken> receipts_;
  std::uint64_t last_receipt_ = 0;
  /// The clock was at its end, where everything is expired: a store may or may not have forgotten
  /// what was settled.
  bool was_at_end_ = false;
  WallTime now_;
};

}  // namespace sluice::store::testing
