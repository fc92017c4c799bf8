#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>

#include "control/audit.h"
#include "control/node.h"
#include "control/record.h"
#include "control/version.h"

/// The text forms in which stores keep their records: one line of JSON each. They are read by older
/// and newer builds: unknown members are ignored, missing ones have their defaults, and a record of
/// a later format is an error. Text that is not UTF-8 is stored with U+FFFD in place of such bytes.
namespace sluice::control {

/// The format that this build writes, and the latest that it reads.
inline constexpr std::uint64_t kRecordFormat = 1;

/// The largest JSON of a version's information.
inline constexpr std::size_t kMaxInfoBytes = std::size_t{32} << 10;

[[nodiscard]] std::string ToJson(const VersionInfo& info);
[[nodiscard]] std::string ToJson(const AuditRecord& record);
[[nodiscard]] std::string ToJson(const Record& record);
/// Without `last_seen`, which the store sets.
[[nodiscard]] std::string ToJson(const NodeRecord& node);

/// Errors: kForeignValue for text that is no such record, kStoreError for a later format.
[[nodiscard]] Result<VersionInfo> ParseVersionInfo(std::string_view json);
[[nodiscard]] Result<AuditRecord> ParseAuditRecord(std::string_view json);
[[nodiscard]] Result<NodeRecord> ParseNodeRecord(std::string_view json);
/// Nothing: a record of a kind that this build does not know.
[[nodiscard]] Result<std::optional<Record>> ParseRecord(std::string_view json);

/// Records of one write, or a part of all records, and the position that follows.
struct RecordBatch {
  RecordCursor cursor{};
  bool is_first = false;  ///< Replaces earlier parts: the first part of all records.
  AuditRecord audit{};    ///< Of the write; sequence number 0: none.
  std::vector<Record> records{};
};

/// As text with its size and hash, so that a part of it is recognized.
[[nodiscard]] std::string ToText(const RecordBatch& batch);
/// Takes the batch at the beginning of `text`. Errors: kForeignValue for one that is damaged, which
/// is taken too if its size is known; otherwise `text` stays as it is.
[[nodiscard]] Result<RecordBatch> TakeRecordBatch(std::string_view& text);

/// A version as one file: its information as a line of JSON, then its text.
[[nodiscard]] std::string ToFile(const Version& version);
/// Reads the information at the beginning of such a file.
[[nodiscard]] Result<VersionInfo> ParseVersionFileInfo(std::string_view file);
/// Reads a whole one, and compares the text with its size and hash.
[[nodiscard]] Result<Version> ParseVersionFile(std::string_view file);

/// Returns the problem of a version that can't be committed in place of `expected`, if it has one:
/// a hash that is not its text's, too large a text, a number that is not higher.
[[nodiscard]] std::optional<Error> FindCommitProblem(const Version& version,
                                                     const std::optional<VersionRef>& expected);

}  // namespace sluice::control
