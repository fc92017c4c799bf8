#include "control/disk/audit_log.h"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>

#include "base/parse_number.h"
#include "control/record_text.h"

namespace sluice::control {
namespace {

constexpr std::string_view kAuditDirectory = "audit";
constexpr std::string_view kSegmentSuffix = ".jsonl";
constexpr std::size_t kSequenceDigits = 20;

std::string SegmentName(std::uint64_t first) {
  std::string digits = std::to_string(first);
  digits.insert(0, kSequenceDigits - digits.size(), '0');
  return std::string(kAuditDirectory) + '/' + digits + std::string(kSegmentSuffix);
}

std::optional<std::uint64_t> ParseSegmentName(std::string_view name) {
  if (!name.ends_with(kSegmentSuffix)) return std::nullopt;
  name.remove_suffix(kSegmentSuffix.size());
  return name.size() == kSequenceDigits ? ParseNumber<std::uint64_t>(name) : std::nullopt;
}

// Takes the last line, without its end.
std::string_view TakeLastLine(std::string_view& lines) {
  if (lines.ends_with('\n')) lines.remove_suffix(1);
  const std::size_t begin = lines.rfind('\n') + 1;  // npos + 1 is 0.
  const std::string_view line = lines.substr(begin);
  lines = lines.substr(0, begin);
  return line;
}

}  // namespace

Result<AuditLog> AuditLog::Open(StateDirectory& directory) {
  AuditLog log(directory);
  if (auto error = directory.MakeDirectory(kAuditDirectory)) return *error;
  const auto names = directory.List(kAuditDirectory);
  if (!names) return names.error();
  for (const std::string& name : *names) {
    if (const auto first = ParseSegmentName(name)) log.segments_.push_back(*first);
  }
  if (auto error = log.ReadLastSegment()) return *error;
  return log;
}

// Reads the segment's records, and leaves out one that was written in part. A segment without a
// whole record is removed, and the one before is the last.
std::optional<Error> AuditLog::ReadLastSegment() {
  while (!segments_.empty()) {
    const std::string name = SegmentName(segments_.back());
    const auto content = directory_->Read(name);
    if (!content) return content.error();
    const std::string_view whole = content->has_value() ? std::string_view(**content) : "";
    const std::string_view lines = whole.substr(0, whole.rfind('\n') + 1);
    bytes_ = lines.size();
    partly_written_ = bytes_ < whole.size();
    if (!lines.empty()) {
      records_ = static_cast<std::size_t>(std::ranges::count(lines, '\n'));
      std::string_view rest = lines;
      auto record = ParseAuditRecord(TakeLastLine(rest));
      if (!record || HashOf(*record) != record->hash) {
        return Error{ErrorCode::kForeignValue,
                     directory_->PathOf(name) +
                         ": last audit record is damaged; move the file away to go on without it"};
      }
      last_ = std::move(*record);
      return RepairEnd();
    }
    if (auto error = directory_->Remove(name)) return error;
    segments_.pop_back();
    partly_written_ = false;
  }
  return std::nullopt;
}

std::optional<Error> AuditLog::RepairEnd() {
  if (!partly_written_) return std::nullopt;
  if (auto error = directory_->Truncate(SegmentName(segments_.back()), bytes_)) return error;
  partly_written_ = false;
  return std::nullopt;
}

std::optional<Error> AuditLog::Append(const AuditRecord& record) {
  if (auto error = RepairEnd()) return error;
  const bool new_segment = segments_.empty() || records_ >= kSegmentRecords;
  const std::string name = SegmentName(new_segment ? record.sequence : segments_.back());
  const std::string line = ToJson(record) + '\n';
  if (auto error = directory_->Append(name, line)) {
    if (new_segment) {
      (void)directory_->Remove(name);  // Otherwise the next attempt appends to a part.
    } else {
      partly_written_ = true;
      (void)RepairEnd();  // Otherwise before the next attempt.
    }
    return error;
  }
  if (new_segment) {
    segments_.push_back(record.sequence);
    records_ = 0;
    bytes_ = 0;
  }
  ++records_;
  bytes_ += line.size();
  last_ = record;
  if (new_segment) RemoveOldSegments();
  return std::nullopt;
}

void AuditLog::RemoveOldSegments() {
  while (segments_.size() > 1 && segments_[1] + kAuditRecordsKept <= last_.sequence + 1) {
    if (directory_->Remove(SegmentName(segments_.front()))) return;  // With the next segment.
    segments_.erase(segments_.begin());
  }
}

Result<std::vector<AuditRecord>> AuditLog::Read(std::uint64_t before, std::size_t count) const {
  std::vector<AuditRecord> records;
  for (const std::uint64_t first : std::views::reverse(segments_)) {
    if (before != 0 && first >= before) continue;
    if (records.size() >= count) break;
    const std::string name = SegmentName(first);
    const auto content = directory_->Read(name);
    if (!content) return content.error();
    std::string_view lines = content->has_value() ? std::string_view(**content) : "";
    lines = lines.substr(0, lines.rfind('\n') + 1);
    while (!lines.empty() && records.size() < count) {
      auto record = ParseAuditRecord(TakeLastLine(lines));
      if (!record) {
        return Error{record.error().code, directory_->PathOf(name) + ": " + record.error().message};
      }
      if (record->sequence + kAuditRecordsKept <= last_.sequence) return records;
      if (before == 0 || record->sequence < before) records.push_back(std::move(*record));
    }
  }
  return records;
}

}  // namespace sluice::control
