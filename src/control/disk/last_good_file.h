#pragma once

#include "control/disk/record_log.h"
#include "control/disk/state_directory.h"
#include "control/last_good.h"

namespace sluice::control {

/// The last good copy in a state directory. One thread at a time.
class LastGoodFile final : public LastGoodCopy {
 public:
  /// `directory` must outlive it.
  explicit LastGoodFile(StateDirectory& directory)
      : directory_(directory), records_(directory, "last-good-records") {}

  Result<std::optional<Version>> Load() override;
  std::optional<Error> Save(const Version& version) override;
  Result<RecordTable> LoadRecords() override;
  std::optional<Error> SaveRecords(const RecordTable& records, std::span<const Record> changes,
                                   bool complete) override;

 private:
  StateDirectory& directory_;
  RecordLog records_;
};

}  // namespace sluice::control
