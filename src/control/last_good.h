#pragma once

#include <optional>
#include <span>

#include <sluice/result.h>

#include "control/record_table.h"
#include "control/version.h"

namespace sluice::control {

/// A copy of the version and of the records that this node used last, for a start without its
/// control store.
class LastGoodCopy {
 public:
  virtual ~LastGoodCopy() = default;

  /// Nothing: there is none yet.
  virtual Result<std::optional<Version>> Load() = 0;
  /// Replaces the copy; after an error the previous one is still there.
  virtual std::optional<Error> Save(const Version& version) = 0;

  /// An empty table: there are none yet.
  virtual Result<RecordTable> LoadRecords() = 0;
  /// Saves the records, of which these changed since they were saved last; `complete`: any may
  /// have.
  virtual std::optional<Error> SaveRecords(const RecordTable& records,
                                           std::span<const Record> changes, bool complete) = 0;
};

}  // namespace sluice::control
