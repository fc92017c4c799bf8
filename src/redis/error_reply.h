#pragma once

#include <cstdint>
#include <string_view>

#include "redis/server_address.h"
#include "resp/value.h"

/// Classification of Redis' error replies.
namespace sluice::redis {

/// Returns the error code, the first word of an error reply. Unwraps errors of commands in scripts,
/// which Redis before version 7 wraps.
[[nodiscard]] std::string_view CodeOf(resp::Value error);

/// Returns whether the error is temporary and proves that the command did not run.
[[nodiscard]] bool MayPass(std::string_view code);

/// The target of "MOVED 3999 127.0.0.1:6381" or "ASK 3999 127.0.0.1:6381".
struct Redirection {
  std::uint16_t slot = 0;
  /// Empty host: that of the replying server. Port 0: not given.
  ServerAddress address{};
};
[[nodiscard]] Redirection ReadRedirection(std::string_view error);

/// Returns whether the error shows that the server currently can't serve any client. Errors about
/// the command, its keys or memory don't.
[[nodiscard]] bool IsUnwell(std::string_view code);

}  // namespace sluice::redis
