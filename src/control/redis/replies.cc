#include "control/redis/replies.h"

#include <algorithm>

#include "base/parse_number.h"
#include "control/record_text.h"
#include "redis/error_reply.h"

namespace sluice::control {

std::string_view TakeWord(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

Result<VersionRef> ParseRedisPointer(std::string_view text) {
  const std::string_view format = TakeWord(text);
  const auto id = ParseVersionId(TakeWord(text));
  const auto number = ParseNumber<std::uint64_t>(format);
  if (number && *number > kRecordFormat) {
    return Error{ErrorCode::kStoreError,
                 "pointer of format " + std::string(format) + ", which is newer than this build"};
  }
  if (format != kPointerFormat || !id || id->epoch == 0 || text.empty()) {
    return Error{ErrorCode::kForeignValue, "not a pointer to a version"};
  }
  return VersionRef{.id = *id, .hash = std::string(text)};
}

Result<AuditRecord> ParseLastRecord(std::string_view text) {
  if (text.empty()) return AuditRecord{};
  return ParseAuditRecord(text);
}

std::optional<Error> ErrorOf(const redis::CallResult& result) {
  if (!result) {
    const redis::CallError& error = result.error();
    return Error{error.ran == redis::Execution::kNotSent ? ErrorCode::kStoreUnavailable
                                                         : ErrorCode::kStoreTimeout,
                 error.message};
  }
  if (!result.reply().is_error()) return std::nullopt;
  const std::string_view code = redis::CodeOf(result.reply());
  ErrorCode mapped = ErrorCode::kStoreError;
  if (code == "WRONGTYPE" || result.reply().text().find("WRONGTYPE") != std::string_view::npos) {
    mapped = ErrorCode::kForeignValue;
  } else if (redis::MayPass(code) && code != "READONLY") {
    mapped = ErrorCode::kStoreUnavailable;
  }
  return Error{mapped, "Redis refused: " + std::string(result.reply().text())};
}

Error UnexpectedReply(resp::Value reply) {
  return {ErrorCode::kStoreError, "unexpected reply of Redis: " + resp::Describe(reply)};
}

}  // namespace sluice::control
