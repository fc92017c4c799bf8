#pragma once

#include <mutex>
#include <vector>

#include "base/clock.h"
#include "control/record_service.h"
#include "control/record_table.h"

namespace sluice::control::testing {

/// Records in memory, for tests of their users. Thread-safe.
class FakeRecordService final : public RecordService {
 public:
  /// `clock` must outlive it.
  explicit FakeRecordService(const Clock& clock) : clock_(clock) {}

  /// All writes fail with this error; nothing: they work again.
  void SetFailure(std::optional<Error> error);
  /// The audit records of all writes.
  [[nodiscard]] std::vector<RecordAudit> Audits() const;

  [[nodiscard]] std::optional<Record> Find(RecordKind kind, std::string_view id) override;
  [[nodiscard]] std::vector<Record> List(RecordKind kind, std::string_view after, std::size_t limit,
                                         const std::function<bool(const Record&)>& filter) override;
  Result<RecordChangeResult> Write(std::span<const RecordWrite> writes,
                                   const RecordAudit& audit) override;

 private:
  const Clock& clock_;
  mutable std::mutex mutex_;  ///< Guards all that follows.
  RecordTable table_;
  std::optional<Error> failure_;
  std::vector<RecordAudit> audits_;
};

}  // namespace sluice::control::testing
