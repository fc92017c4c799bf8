#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "control/record.h"

namespace sluice::control {

/// Records in memory: of a store, or a node's copy of one. Removed ones are remembered, up to
/// kRemovedRecordsKept. One thread at a time.
class RecordTable {
 public:
  /// The records that a write makes; nothing is changed yet.
  struct Plan {
    RecordWriteResult result{};
    std::vector<Record> records{};  ///< With kWritten.
  };

  RecordTable() = default;
  RecordTable(const RecordTable& other);
  RecordTable(RecordTable&& other) = default;
  RecordTable& operator=(const RecordTable& other);
  RecordTable& operator=(RecordTable&& other) = default;
  ~RecordTable() = default;

  [[nodiscard]] const RecordCursor& cursor() const { return cursor_; }
  /// Without the removed ones; expired ones count.
  [[nodiscard]] std::size_t size() const { return records_.size() - removed_.size(); }
  /// Nothing: there is none, or it is removed.
  [[nodiscard]] const Record* Find(RecordKind kind, std::string_view id) const;
  /// Calls `visit` for each record of a kind after this id ("": from the first), in the order of
  /// their ids, until it returns false.
  void Visit(RecordKind kind, std::string_view after,
             const std::function<bool(const Record&)>& visit) const;
  /// Lists all records, in the order of their sequence numbers.
  [[nodiscard]] std::vector<Record> List(bool with_removed = false) const;
  /// Lists at most `count` records that have expired.
  [[nodiscard]] std::vector<Record> ListExpired(WallTime now, std::size_t count) const;
  /// When the next record expires.
  [[nodiscard]] std::optional<WallTime> NextExpiry() const;

  /// Checks writes as ControlStore::WriteRecords, and numbers them.
  [[nodiscard]] Plan Prepare(std::span<const RecordWrite> writes, WallTime now) const;
  /// As ControlStore::RestoreRecords.
  [[nodiscard]] Plan PrepareRestore(std::span<const Record> records, const RecordCursor& expected,
                                    const RecordCursor& base, WallTime now) const;
  /// Applies the records of a write, or of a page that was read.
  void Apply(std::span<const Record> records, const RecordCursor& cursor);
  /// Replaces everything.
  void Reset(std::span<const Record> records, const RecordCursor& cursor);

  /// As ControlStore::ReadRecords.
  [[nodiscard]] RecordPage Read(const RecordCursor& after, std::size_t count, WallTime now) const;

 private:
  enum class History : std::uint8_t { kKnown, kTooOld, kDiverged };

  [[nodiscard]] History Recognize(const RecordCursor& after) const;
  void Put(const Record& record);

  RecordCursor cursor_{};
  std::uint64_t floor_ = 0;  ///< The newest removed record that was forgotten.
  std::map<std::string, Record, std::less<>> records_;  ///< By KeyOf, also removed ones.
  std::map<std::uint64_t, const Record*> order_;        ///< By sequence number.
  std::map<std::uint64_t, const Record*> removed_;      ///< By sequence number.
  std::set<std::pair<WallTime, const Record*>> expiring_;
  std::map<std::uint64_t, WallTime> writes_;               ///< Ends of writes, and their times.
  std::array<std::size_t, kRecordKinds.size()> counts_{};  ///< Without the removed ones.
};

/// Returns the records of a store that has lost writes, completed by a node's copy: of two that
/// differ, the one that was written later. Expired ones are left out.
[[nodiscard]] std::vector<Record> Merge(const RecordTable& store, const RecordTable& copy,
                                        WallTime now);

}  // namespace sluice::control
