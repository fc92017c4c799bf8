#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "base/json_reader.h"
#include "base/json_writer.h"
#include "base/labels.h"
#include "match/entry.h"
#include "rules/model.h"

/// Entries as JSON: in requests, in answers and in the control store.
///
///     {"match": {"api_key": "sk_1"}, "effect": {"limit": "50 per hour"}, "rule": "search",
///      "reason": "ticket 7", "expires_at": "2026-12-01T18:00:00Z"}
namespace sluice::match {

inline constexpr std::size_t kMaxEntryId = 128;
inline constexpr std::size_t kMaxEntryConditions = 8;
inline constexpr std::size_t kMaxEntryValue = 1024;
inline constexpr std::size_t kMaxEntryReason = 512;
inline constexpr Micros kDefaultEntryLife = std::chrono::hours(24);

enum class EntryErrorCode : std::uint8_t { kInvalid, kUnknownField, kDuplicateField, kMissing };

struct EntryError {
  EntryErrorCode code = EntryErrorCode::kInvalid;
  std::string field{};    ///< "match.ip"; empty: the whole entry.
  std::string message{};  ///< "must be …".
};

struct EntryReadResult {
  std::optional<Entry> entry;
  EntryError error;  ///< If there is no entry.
};

/// What a request leaves to the server.
struct EntryDefaults {
  WallTime now{};
  std::string author{};
  /// Hashes the value of `api_key` and `key`; null: keys are stored as they are.
  std::function<std::string(std::string_view key)> hash_key{};
  /// Of a file: an entry without an expiry never expires, and one may have expired already.
  bool is_file = false;
};

/// Ids of penalties begin with it; operators' do not.
inline constexpr std::string_view kPenaltyPrefix = "penalty:";

/// Whether an id can be used: 1 to 128 letters, digits and `. _ : @ -`.
[[nodiscard]] bool IsEntryId(std::string_view id);

/// Reads the entry of a request. Members that are unknown or there twice are errors; those that
/// only the server sets (`author`, `created`, `last_used`) are ignored, so that an answer can be
/// sent back.
[[nodiscard]] EntryReadResult ReadEntry(std::string_view id, const JsonValue& json,
                                        const EntryDefaults& defaults);
struct EntryListResult {
  std::vector<Entry> entries;
  std::optional<EntryError> error;  ///< Its field begins with "entries[3]".
};
/// Reads several entries: {"entries": [{"id": "a", "match": …}, …]}, or the list alone. No id is
/// there twice.
[[nodiscard]] EntryListResult ReadEntries(const JsonValue& json, const EntryDefaults& defaults);

/// Reads an entry from the text of StoredText.
[[nodiscard]] EntryReadResult ReadStoredEntry(std::string_view id, std::string_view text);

/// Appends the members of an entry to an object that is open. `shown` changes values of `api_key`
/// and `key`; null: they are written as they are.
void AppendMembers(const Entry& entry, JsonWriter& json,
                   const std::function<std::string(std::string_view)>& shown = nullptr);
/// Returns the text for the control store.
[[nodiscard]] std::string StoredText(const Entry& entry);

/// "block", "limit 50 per 1h", "multiply 2": for people.
[[nodiscard]] std::string EffectText(const Entry& entry);
/// "api_key=sk_1, ip=10.0.0.0/8": for people.
[[nodiscard]] std::string MatchText(const Entry& entry);

/// Returns the id of the block of a caller, so that it is blocked and unblocked without a look at
/// the list. `attributes` are names and values, in any order.
[[nodiscard]] std::string BlockIdOf(std::vector<std::pair<std::string, std::string>> attributes);

/// Returns the id of a penalty, which follows from the rule and whom it is for: all nodes have the
/// same, and no two callers share one.
[[nodiscard]] std::string PenaltyIdOf(const Entry& entry, std::string_view rule);

/// Returns the error of an entry that the rules in force make useless: an unknown rule or limit, or
/// a limit that needs a name. Nothing if it is right.
[[nodiscard]] std::optional<EntryError> CheckEntry(const Entry& entry,
                                                   const rules::RuleFile& rules);

}  // namespace sluice::match
