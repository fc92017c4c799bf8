#pragma once

#include <optional>

#include <sluice/result.h>

#include "control/version.h"

namespace sluice::control {

/// A copy of the version that this node used last, for a start without its control store.
class LastGoodCopy {
 public:
  virtual ~LastGoodCopy() = default;

  /// Nothing: there is none yet.
  virtual Result<std::optional<Version>> Load() = 0;
  /// Replaces the copy; after an error the previous one is still there.
  virtual std::optional<Error> Save(const Version& version) = 0;
};

}  // namespace sluice::control
