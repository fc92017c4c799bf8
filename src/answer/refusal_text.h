#pragma once

#include <cstddef>
#include <string>

#include "limiter/check_request.h"

/// Texts that describe refused requests, the same in every protocol.
namespace sluice {

/// "a cost of 500 never fits into a limit of 100"; the use is one of the check's.
[[nodiscard]] std::string NeverFits(const limiter::CheckRequest& check, std::size_t use);

/// Of a grant that no limit took: whether there was one at all, and why nothing was given.
struct NothingGranted {
  bool met_limits = false;
  std::string why;
};
[[nodiscard]] NothingGranted WhyNothingGranted(const limiter::CheckRequest& check);

}  // namespace sluice
