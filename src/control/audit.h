#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <sluice/time.h>

#include "control/version.h"

namespace sluice::control {

/// Records that a store keeps.
inline constexpr std::size_t kAuditRecordsKept = 100'000;

/// A change, as it is recorded.
struct AuditEvent {
  WallTime time{};
  Origin origin{};
  std::string action{};   ///< Such as "rules.commit", "rules.restore", "enforcement.set".
  std::string target{};   ///< The changed object, such as a version; may be empty.
  std::string message{};  ///< The author's reason; may be empty.
  std::string node{};     ///< The node through which it was made.
};

/// A record of the audit log. Each contains the hash of the one before, so that a changed or
/// removed record is detected.
struct AuditRecord {
  std::uint64_t sequence = 0;  ///< 1, 2, …
  AuditEvent event{};
  std::string previous_hash{};  ///< Empty: the first.
  std::string hash{};           ///< Of all the fields above.
};

/// Returns the hash that a record must have.
[[nodiscard]] std::string HashOf(const AuditRecord& record);

/// Returns the record that follows `last`; a default one before the first. Bytes of the event that
/// are not UTF-8 are replaced.
[[nodiscard]] AuditRecord NextRecord(const AuditRecord& last, AuditEvent event);

/// Returns whether `record` is intact and the next one after `last`.
[[nodiscard]] bool Follows(const AuditRecord& record, const AuditRecord& last);

}  // namespace sluice::control
