#pragma once

#include "control/disk/state_directory.h"
#include "control/last_good.h"

namespace sluice::control {

/// The last good copy in a state directory. One thread at a time.
class LastGoodFile final : public LastGoodCopy {
 public:
  /// `directory` must outlive it.
  explicit LastGoodFile(StateDirectory& directory) : directory_(directory) {}

  Result<std::optional<Version>> Load() override;
  std::optional<Error> Save(const Version& version) override;

 private:
  StateDirectory& directory_;
};

}  // namespace sluice::control
