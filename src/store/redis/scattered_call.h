#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "store/redis/key_location.h"
#include "store/store.h"

namespace sluice::store {

/// The interface of the store for scattered calls.
class PartRunner {
 public:
  /// Runs a call with keys of one location; completes it later.
  virtual void RunPart(StoreCall& part, std::uint16_t slot, SteadyTime deadline) = 0;
  /// Refunds the use's receipt. Fire and forget.
  virtual void GiveBack(const KeyUse& taken, std::uint16_t slot, WallTime now) = 0;

 protected:
  ~PartRunner() = default;
};

/// A call with keys in several locations of a cluster.
///
/// A check first peeks at all locations. If all allow it, it consumes from one location after the
/// other, in the same order for all callers. If one denies it after all, because another call came
/// in between, the others are refunded. Limits are never exceeded, but a temporary consumption may
/// deny other calls: see RedisStoreStats::given_back. If a node or this program fails before the
/// refund, the units come back only with time.
///
/// All other operations treat each key separately and go to all locations at once. If only some of
/// them fail, the result is kStoreTimeout: it may have run.
///
/// Deletes itself when it is done. The runner must complete all its parts.
class ScatteredCall {
 public:
  /// `locations` has one element for each use.
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
  std::vector<std::size_t> original_;  ///< Index of the original use of each copy.
  std::vector<Verdict> looked_;        ///< The peeked verdict of each use.
  std::vector<StoreCall> counts_;      ///< One for each use with count_denied.
  std::size_t taken_ = 0;              ///< Number of parts that were consumed.
  std::size_t outstanding_ = 0;
  std::size_t failed_ = 0;
  ErrorCode error_{};
};

}  // namespace sluice::store
