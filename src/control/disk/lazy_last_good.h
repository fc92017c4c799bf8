#pragma once

#include <memory>
#include <optional>

#include "control/disk/last_good_file.h"
#include "control/disk/lazy_state_directory.h"

namespace sluice::control {

/// The last good copy of a server whose rules come from a file: in a directory that is created when
/// there is something to copy. One thread at a time.
class LazyLastGood final : public LastGoodCopy {
 public:
  /// `directory` must outlive it.
  explicit LazyLastGood(LazyStateDirectory& directory) : directory_(directory) {}

  Result<std::optional<Version>> Load() override;
  std::optional<Error> Save(const Version& version) override;
  Result<RecordTable> LoadRecords() override;
  std::optional<Error> SaveRecords(const RecordTable& records, std::span<const Record> changes,
                                   bool complete) override;

 private:
  Result<LastGoodFile*> FileOf(Result<StateDirectory*> directory);

  LazyStateDirectory& directory_;
  std::optional<LastGoodFile> file_;
};

}  // namespace sluice::control
