#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/result.h>
#include <sluice/time.h>

/// Records: small documents that operators change while servers run (live entries, tokens, the
/// enforcement of the fleet). The store knows their kind, id and expiry; their text, a small JSON
/// object, is that of the kind's owner.
namespace sluice::control {

enum class RecordKind : std::uint8_t {
  kEntry,        ///< A live entry: a block, an override.
  kToken,        ///< A token of the admin API, as a hash.
  kEnforcement,  ///< The enforcement of the fleet.
  kPenalty,      ///< A live entry that the servers made, and how often its caller offended.
};

/// A kind's stored name, and the most records of it that a store keeps.
struct RecordKindInfo {
  RecordKind kind{};
  std::string_view name{};
  std::size_t max_records = 0;
};

inline constexpr std::array kRecordKinds{
    RecordKindInfo{RecordKind::kEntry, "entry", 120'000},
    RecordKindInfo{RecordKind::kToken, "token", 10'000},
    RecordKindInfo{RecordKind::kEnforcement, "enforcement", 16},
    RecordKindInfo{RecordKind::kPenalty, "penalty", 110'000},
};

[[nodiscard]] std::string_view NameOf(RecordKind kind);
[[nodiscard]] std::optional<RecordKind> ParseRecordKind(std::string_view name);

/// The most records that one call writes.
inline constexpr std::size_t kMaxRecordsPerWrite = 10'000;
/// The largest text of a record, and of all records of one call.
inline constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 10;
inline constexpr std::size_t kMaxRecordWriteBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMaxRecordIdBytes = 256;
/// The most records that one call reads.
inline constexpr std::size_t kMaxRecordsPerPage = 5'000;
/// Removed records that a store remembers, for readers that follow it.
inline constexpr std::size_t kRemovedRecordsKept = 20'000;
/// Writes that a store remembers, to recognize the cursors of its readers.
inline constexpr std::size_t kRecordWritesKept = 1'000;

struct Record {
  RecordKind kind{};
  std::string id{};
  std::string text{};          ///< Empty if removed.
  std::uint64_t sequence = 0;  ///< Of the write that made it; unique in a store.
  WallTime time{};             ///< Of that write, by the store's clock.
  std::optional<WallTime> expires_at{};
  bool removed = false;

  [[nodiscard]] bool IsExpired(WallTime now) const { return expires_at && *expires_at <= now; }
  friend bool operator==(const Record&, const Record&) = default;
};

/// One change: replaces a record, creates or removes it.
struct RecordWrite {
  RecordKind kind{};
  std::string id{};
  std::string text{};
  std::optional<WallTime> expires_at{};
  bool remove = false;
  /// The sequence number that the record must have now; 0: it must not exist. Not set: any.
  std::optional<std::uint64_t> expected{};
};

/// A position in a store's sequence of writes. A default one is before the first.
struct RecordCursor {
  std::uint64_t epoch = 0;     ///< A new one begins when lost records were restored.
  std::uint64_t sequence = 0;  ///< The last one read.
  WallTime time{};             ///< Of the write that ended there.
  /// While a snapshot is read in pages: the store's sequence number at its first page. Else 0.
  std::uint64_t snapshot = 0;
  bool with_removed = false;  ///< A snapshot has the removed records, too.

  friend bool operator==(const RecordCursor&, const RecordCursor&) = default;
};

enum class RecordWriteOutcome : std::uint8_t {
  kWritten,
  kConflict,  ///< A record is not the expected one.
  kTooMany,   ///< There would be too many of a kind.
};

struct RecordWriteResult {
  RecordWriteOutcome outcome = RecordWriteOutcome::kWritten;
  /// With kWritten: of the first write; those of the others follow, in their order.
  std::uint64_t first_sequence = 0;
  RecordCursor cursor{};    ///< Of the store afterwards.
  std::size_t failed = 0;   ///< With kConflict and kTooMany: the index of a write at fault.
  std::uint64_t found = 0;  ///< With kConflict: the record's sequence number; 0: there is none.
  /// Whether a replica has it; not set if the store has no replicas.
  std::optional<bool> replicated{};
};

/// One page of records, in the order of their sequence numbers.
struct RecordPage {
  /// These are all records, from the beginning: whatever was read before is void.
  bool is_snapshot_start = false;
  /// The store does not have writes that the cursor has seen. Such a page starts a snapshot.
  bool diverged = false;
  std::vector<Record> records{};  ///< Expired ones are left out of a snapshot, else `removed`.
  RecordCursor next{};
  bool complete = true;  ///< There are no more for now.
  WallTime now{};        ///< The store's time.
};

/// Returns the key under which stores keep a record: "<kind>:<id>".
[[nodiscard]] std::string KeyOf(RecordKind kind, std::string_view id);

/// Returns the problem of writes that no store accepts (kInvalidOptions), if they have one: too
/// many, an id twice, an empty or too long id or text, text that is not UTF-8.
[[nodiscard]] std::optional<Error> FindRecordProblem(std::span<const RecordWrite> writes);

/// A small document that a node publishes for the others, with a time to live.
struct NodeReport {
  std::string node{};
  std::string text{};
};

inline constexpr std::size_t kMaxReportBytes = std::size_t{256} << 10;
/// Returns the problem of a report that no store accepts (kInvalidOptions), if it has one. A name
/// consists of a-z, 0-9, '_' and '-'.
[[nodiscard]] std::optional<Error> FindReportProblem(std::string_view name,
                                                     const NodeReport& report, Micros ttl);

}  // namespace sluice::control
