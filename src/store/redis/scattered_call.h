#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "store/redis/key_location.h"
#include "store/store.h"

namespace sluice::store {

/// The functions of the store that a scattered call uses.
class PartRunner {
 public:
  /// Answers a call about keys of one location, later.
  virtual void RunPart(StoreCall& part, std::uint16_t slot, SteadyTime deadline) = 0;
  /// Undoes what the use took, according to its receipt. No caller waits for that.
  virtual void GiveBack(const KeyUse& taken, std::uint16_t slot, WallTime now) = 0;

 protected:
  ~PartRunner() = default;
};

/// A call about keys in several locations of a cluster, none of which knows of the others.
///
/// A check looks at all of them. Only if all allow it, it takes, from one location after the other,
/// in an order that is the same for all callers; if one denies it after all, because another call
/// came in between, what was taken is given back. So limits are never exceeded, but what is held
/// for a moment may deny others: see RedisStoreStats::given_back. Whatever can't be given back,
/// because a node or this program dies, comes back as all that is taken does, with time.
///
/// All other operations concern each key by itself, and go to all locations at once. If some of
/// them fail and others don't, the answer is kStoreTimeout: it may have happened.
///
/// Lives until it has answered. The runner must answer all its parts.
class ScatteredCall {
 public:
  /// `locations`: of each use.
  static void Run(PartRunner& runner, StoreCall& call, std::span<const KeyLocation> locations,
                  SteadyTime deadline);

 private:
  /// The uses of one location: `uses_[first]` and those that follow.
  struct Part {
    std::uint16_t slot = 0;
    std::size_t first = 0;
    std::size_t count = 0;
    StoreCall call{};
  };
  enum class Stage : std::uint8_t { kEach, kLook, kTake, kCount };

  ScatteredCall(PartRunner& runner, StoreCall& call, std::span<const KeyLocation> locations,
                SteadyTime deadline);

  void Begin();
  void RunAll(Operation operation);
  void RunPart(Part& part, Operation operation);
  void Run(StoreCall& part, std::uint16_t slot);
  void OnDone(const StoreCall& done);

  void FinishPeek();
  void TakeNext();
  void FinishTake();
  void GiveBackTaken();
  void Count(std::size_t first_part);
  void ReadCounts();
  void AnswerEach();
  bool PeekDelays();
  void Answer(bool allowed);
  void Fail(ErrorCode error);
  void Finish();

  [[nodiscard]] std::span<KeyUse> UsesOf(const Part& part);
  [[nodiscard]] const Verdict& PeekedVerdict(const KeyUse& use) const;

  PartRunner& runner_;
  StoreCall& call_;
  const SteadyTime deadline_;
  Stage stage_ = Stage::kEach;
  std::vector<Part> parts_;
  std::vector<KeyUse> uses_;           ///< Copies, by part.
  std::vector<std::size_t> original_;  ///< Which of the call's uses each is a copy of.
  std::vector<Verdict> looked_;        ///< The peeked verdict of each use.
  std::vector<StoreCall> counts_;      ///< One for each use of parts that count denied calls.
  std::size_t taken_ = 0;              ///< Parts that were taken from.
  std::size_t outstanding_ = 0;
  std::size_t failed_ = 0;
  ErrorCode error_{};
};

}  // namespace sluice::store
