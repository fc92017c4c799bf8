#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "simulate/simulation.h"

namespace sluice::simulate {

/// A call that two rule files answer differently.
struct ChangedCall {
  std::size_t line = 0;  ///< In the trace.
  WallTime time{};
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string denied_by;  ///< By the file that denies it.
};

/// Calls of one kind of change: how many, and the first few.
struct Changes {
  std::uint64_t calls = 0;
  std::vector<ChangedCall> examples;
};

/// The change of each decision when one rule file replaces another.
class Comparison {
 public:
  explicit Comparison(std::size_t examples) : examples_(examples) {}

  void Add(std::size_t line, const TraceRow& row, const SimulatedDecision& before,
           const SimulatedDecision& after);

  [[nodiscard]] const Changes& newly_denied() const { return newly_denied_; }
  [[nodiscard]] const Changes& newly_allowed() const { return newly_allowed_; }

 private:
  std::size_t examples_;
  Changes newly_denied_;
  Changes newly_allowed_;
};

/// The reason of a denial, in a few words: "rule_001 (requests)", "the deny list".
[[nodiscard]] std::string DeniedBy(const SimulatedDecision& decision);

}  // namespace sluice::simulate
