#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sluice/result.h>

#include "control/audit.h"
#include "control/disk/state_directory.h"

namespace sluice::control {

/// The audit log in a state directory: JSON lines in files of kSegmentRecords records, named by
/// their first sequence number. Files whose records are all beyond kAuditRecordsKept are removed.
/// One thread at a time.
class AuditLog {
 public:
  static constexpr std::size_t kSegmentRecords = 10'000;

  /// Opens the log, and removes a record at its end that was written only in part. Fails if the
  /// last file is damaged.
  static Result<AuditLog> Open(StateDirectory& directory);

  /// The newest record; a default one if there is none.
  [[nodiscard]] const AuditRecord& last() const { return last_; }

  /// Appends a record. After an error the log is as it was.
  std::optional<Error> Append(const AuditRecord& record);
  /// As ControlStore::ReadAudit.
  [[nodiscard]] Result<std::vector<AuditRecord>> Read(std::uint64_t before,
                                                      std::size_t count) const;

 private:
  explicit AuditLog(StateDirectory& directory) : directory_(&directory) {}

  std::optional<Error> ReadLastSegment();
  std::optional<Error> RepairEnd();
  void RemoveOldSegments();

  StateDirectory* directory_;
  std::vector<std::uint64_t> segments_;  ///< First sequence numbers, ascending.
  std::size_t records_ = 0;              ///< In the last segment.
  std::uint64_t bytes_ = 0;              ///< Of the last segment.
  bool partly_written_ = false;          ///< The last segment may be longer than bytes_.
  AuditRecord last_{};
};

}  // namespace sluice::control
