#pragma once

#include <string>
#include <vector>

#include "rules/model.h"

namespace sluice::rules {

/// Something in a rule file that is wrong, or that hardly can be meant.
struct Mistake {
  std::string file;
  Position position;    ///< Line 0: of the file as a whole.
  std::string field;    ///< Where it is in the tree, as "rules[2].params.capacity"; may be empty.
  std::string message;  ///< What was found and what would be right.

  friend bool operator==(const Mistake&, const Mistake&) = default;
};

/// "rules.yaml:12:5: rules[2].params.refil_rate: unknown field; did you mean `refill_rate`?"
std::string Describe(const Mistake& mistake);

}  // namespace sluice::rules
