#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/result.h>

#include "control/disk/state_directory.h"
#include "control/record_table.h"
#include "control/record_text.h"

namespace sluice::control {

/// Records in one file of a state directory: all records as they were once, then one batch for each
/// write. The file is replaced by a shorter one when most of it is history. One thread at a time.
class RecordLog {
 public:
  /// The content of the file.
  struct Loaded {
    RecordTable table{};
    AuditRecord audit{};   ///< Of the last write; sequence number 0: none.
    std::string damage{};  ///< Unreadable parts, for people; empty: none.
  };

  /// `directory` must outlive it.
  RecordLog(StateDirectory& directory, std::string_view name)
      : directory_(&directory), name_(name) {}

  /// Reads the file. A batch at its end that was written in part is removed. Damaged batches are
  /// left out.
  Result<Loaded> Load();
  /// Appends the records of one write, which `table` already has if the file is to be shortened
  /// with it. After an error the file is as it was.
  std::optional<Error> Append(const RecordBatch& batch);
  /// Replaces the file by all records of a table.
  std::optional<Error> Replace(const RecordTable& table, const AuditRecord& audit);
  /// Whether the file has become much longer than its records.
  [[nodiscard]] bool IsLong() const { return bytes_ > kMinLongBytes && bytes_ > 3 * base_bytes_; }

 private:
  static constexpr std::uint64_t kMinLongBytes = std::uint64_t{1} << 20;

  std::optional<Error> RepairEnd();

  StateDirectory* directory_;
  std::string name_;
  std::uint64_t bytes_ = 0;       ///< Of the file.
  std::uint64_t base_bytes_ = 0;  ///< Of the file when it was replaced last.
  bool partly_written_ = false;   ///< The file may be longer than bytes_.
};

}  // namespace sluice::control
