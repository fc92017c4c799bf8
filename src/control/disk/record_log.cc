#include "control/disk/record_log.h"

#include <algorithm>
#include <utility>

namespace sluice::control {
namespace {

// Records of one batch when all are written: a damaged one costs no more.
constexpr std::size_t kBatchRecords = 500;

}  // namespace

Result<RecordLog::Loaded> RecordLog::Load() {
  Loaded loaded;
  const auto content = directory_->Read(name_);
  if (!content) return content.error();
  if (!*content) return loaded;
  std::string_view rest = **content;
  std::size_t damaged = 0;
  while (!rest.empty()) {
    const std::size_t before = rest.size();
    auto batch = TakeRecordBatch(rest);
    if (!batch && batch.error().code != ErrorCode::kForeignValue) {
      return Error{batch.error().code, directory_->PathOf(name_) + ": " + batch.error().message};
    }
    if (batch) {
      if (batch->is_first) {
        loaded.table.Reset(batch->records, batch->cursor);
      } else {
        loaded.table.Apply(batch->records, batch->cursor);
      }
      if (batch->audit.sequence != 0) loaded.audit = std::move(batch->audit);
      continue;
    }
    if (rest.size() == before) break;
    ++damaged;
  }
  bytes_ = (**content).size() - rest.size();
  partly_written_ = !rest.empty();
  if (damaged > 0) {
    loaded.damage = directory_->PathOf(name_) + ": " + std::to_string(damaged) +
                    " damaged parts were left out; " + std::to_string(loaded.table.size()) +
                    " records are intact";
  }
  if (auto error = RepairEnd()) return *error;
  return loaded;
}

std::optional<Error> RecordLog::RepairEnd() {
  if (!partly_written_) return std::nullopt;
  if (auto error = directory_->Truncate(name_, bytes_)) return error;
  partly_written_ = false;
  return std::nullopt;
}

std::optional<Error> RecordLog::Append(const RecordBatch& batch) {
  if (auto error = RepairEnd()) return error;
  const std::string text = ToText(batch);
  if (auto error = directory_->Append(name_, text)) {
    partly_written_ = true;
    (void)RepairEnd();  // Otherwise before the next attempt, or by the next Load.
    return error;
  }
  bytes_ += text.size();
  return std::nullopt;
}

std::optional<Error> RecordLog::Replace(const RecordTable& table, const AuditRecord& audit) {
  const std::vector<Record> records = table.List(/*with_removed=*/true);
  std::string text;
  std::size_t begin = 0;
  do {
    const std::size_t end = std::min(begin + kBatchRecords, records.size());
    RecordBatch batch{
        .cursor = table.cursor(),
        .is_first = begin == 0,
        .records = std::vector<Record>(records.begin() + static_cast<std::ptrdiff_t>(begin),
                                       records.begin() + static_cast<std::ptrdiff_t>(end))};
    if (end == records.size()) batch.audit = audit;
    text += ToText(batch);
    begin = end;
  } while (begin < records.size());
  if (auto error = directory_->Replace(name_, text)) {
    // The new content may be in place, if only the sync failed.
    const auto found = directory_->Read(name_);
    if (!found || *found != text) return error;
  }
  bytes_ = base_bytes_ = text.size();
  partly_written_ = false;
  return std::nullopt;
}

}  // namespace sluice::control
