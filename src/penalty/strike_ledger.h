#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "penalty/loop_strikes.h"

namespace sluice::penalty {

/// The strikes of a node that were not counted in the store yet. One thread.
class StrikeLedger {
 public:
  static constexpr std::size_t kMaxCallers = 16'384;
  /// Callers whose strikes are counted in the store at a time.
  static constexpr std::size_t kMaxTaken = 2'048;

  /// Adds the strikes of a loop.
  void Add(StrikeBuffer& buffer);
  /// Takes strikes of at most kMaxTaken callers, those with the most first.
  [[nodiscard]] std::vector<Strike> Take();

  [[nodiscard]] bool empty() const { return strikes_.empty(); }
  [[nodiscard]] std::uint64_t strikes() const { return total_; }    ///< In all.
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }  ///< Of these, without room.

 private:
  std::unordered_map<std::string, Strike> strikes_;  ///< By the id of the penalty.
  std::uint64_t total_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace sluice::penalty
