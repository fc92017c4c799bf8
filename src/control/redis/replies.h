#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sluice/result.h>

#include "control/audit.h"
#include "control/version.h"
#include "redis/blocking_client.h"
#include "resp/value.h"

/// Reading of what the control store keeps in Redis.
namespace sluice::control {

/// The format of the pointer to the current version.
inline constexpr std::string_view kPointerFormat = "1";
/// Attempts to append to the audit log while other clients do; each that fails is another's
/// success.
inline constexpr int kMaxAppendAttempts = 200;

/// The first value of a script's reply.
enum class ScriptStatus : std::uint8_t {
  kOtherPointer = 0,
  kDone = 1,
  kOtherAuditRecord = 2,
  kOtherRecord = 3,
  kTooManyRecords = 4,
  kBatchPending = 5,
};

/// Takes the text up to the next space.
[[nodiscard]] std::string_view TakeWord(std::string_view& text);

[[nodiscard]] Result<VersionRef> ParseRedisPointer(std::string_view text);
/// Parses the newest audit record; a default one if the text is empty.
[[nodiscard]] Result<AuditRecord> ParseLastRecord(std::string_view text);

/// Returns the error of a failed call, or of an error reply.
[[nodiscard]] std::optional<Error> ErrorOf(const redis::CallResult& result);
[[nodiscard]] Error UnexpectedReply(resp::Value reply);

}  // namespace sluice::control
