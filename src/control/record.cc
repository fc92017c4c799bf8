#include "control/record.h"

#include <algorithm>
#include <unordered_set>

#include "base/utf8.h"

namespace sluice::control {
namespace {

constexpr std::size_t kMaxReportNameBytes = 64;

Error Invalid(const std::string& what) { return {ErrorCode::kInvalidOptions, what}; }

bool HasControlCharacter(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

std::optional<Error> FindProblem(const RecordWrite& write) {
  const std::string name =
      std::string(NameOf(write.kind)) + " " + (IsUtf8(write.id) ? write.id : "?");
  if (write.id.empty() || write.id.size() > kMaxRecordIdBytes || !IsUtf8(write.id) ||
      HasControlCharacter(write.id)) {
    return Invalid(name + ": an id is 1 to " + std::to_string(kMaxRecordIdBytes) +
                   " bytes of UTF-8 without control characters");
  }
  if (write.remove) return std::nullopt;
  if (write.text.empty() || write.text.size() > kMaxRecordBytes || !IsUtf8(write.text)) {
    return Invalid(name + ": a text is 1 to " + std::to_string(kMaxRecordBytes) +
                   " bytes of UTF-8, this one has " + std::to_string(write.text.size()));
  }
  if (write.expires_at && write.expires_at->time_since_epoch() <= Micros{0}) {
    return Invalid(name + ": expires before 1970");
  }
  return std::nullopt;
}

}  // namespace

std::string_view NameOf(RecordKind kind) {
  return kRecordKinds[static_cast<std::size_t>(kind)].name;
}

std::optional<RecordKind> ParseRecordKind(std::string_view name) {
  for (const RecordKindInfo& info : kRecordKinds) {
    if (info.name == name) return info.kind;
  }
  return std::nullopt;
}

std::string KeyOf(RecordKind kind, std::string_view id) {
  std::string key(NameOf(kind));
  key += ':';
  key += id;
  return key;
}

std::optional<Error> FindRecordProblem(std::span<const RecordWrite> writes) {
  if (writes.empty()) return Invalid("no records to write");
  if (writes.size() > kMaxRecordsPerWrite) {
    return Invalid(std::to_string(writes.size()) + " records, more than " +
                   std::to_string(kMaxRecordsPerWrite));
  }
  std::unordered_set<std::string> keys;
  std::size_t bytes = 0;
  for (const RecordWrite& write : writes) {
    if (auto problem = FindProblem(write)) return problem;
    bytes += write.id.size() + write.text.size();
    if (!keys.insert(KeyOf(write.kind, write.id)).second) {
      return Invalid(std::string(NameOf(write.kind)) + " " + write.id + " is written twice");
    }
  }
  if (bytes > kMaxRecordWriteBytes) {
    return Invalid("records of " + std::to_string(bytes) + " bytes, more than " +
                   std::to_string(kMaxRecordWriteBytes));
  }
  return std::nullopt;
}

std::optional<Error> FindReportProblem(std::string_view name, const NodeReport& report,
                                       Micros ttl) {
  const auto is_name_character = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty() || name.size() > kMaxReportNameBytes ||
      !std::ranges::all_of(name, is_name_character)) {
    return Invalid("report: a name consists of a-z, 0-9, '_' and '-'");
  }
  if (report.node.empty() || report.node.size() > kMaxRecordIdBytes) {
    return Invalid("report: no node, or a too long one");
  }
  if (report.text.size() > kMaxReportBytes) {
    return Invalid("report of " + std::to_string(report.text.size()) + " bytes, more than " +
                   std::to_string(kMaxReportBytes));
  }
  if (ttl <= Micros{0}) return Invalid("report: no time to live");
  return std::nullopt;
}

}  // namespace sluice::control
