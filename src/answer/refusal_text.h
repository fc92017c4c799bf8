#pragma once

#include <cstddef>
#include <string>

#include "limiter/question.h"

/// What callers are told of what was refused, in every protocol.
namespace sluice {

/// "a cost of 500 never fits into a limit of 100"; the use is one of the question's.
[[nodiscard]] std::string NeverFits(const limiter::Question& question, std::size_t use);

/// Of a grant that no limit took: whether there was one at all, and why nothing was given.
struct NothingGranted {
  bool met_limits = false;
  std::string why;
};
[[nodiscard]] NothingGranted WhyNothingGranted(const limiter::Question& question);

}  // namespace sluice
