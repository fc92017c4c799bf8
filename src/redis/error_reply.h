#pragma once

#include <cstdint>
#include <string_view>

#include "redis/server_address.h"
#include "resp/value.h"

/// The meaning of Redis' error replies for the sender of a command.
namespace sluice::redis {

/// The first word of an error reply; also of what Redis before version 7 wraps in another error
/// because a script's command ran into it.
[[nodiscard]] std::string_view CodeOf(resp::Value error);

/// Whether such an error proves that the command did not run, and may pass by itself.
[[nodiscard]] bool MayPass(std::string_view code);

/// Where "MOVED 3999 127.0.0.1:6381" and "ASK 3999 127.0.0.1:6381" point.
struct Redirection {
  std::uint16_t slot = 0;
  /// An empty host is that of the server that said so. A port of 0: it did not say.
  ServerAddress address{};
};
[[nodiscard]] Redirection ReadRedirection(std::string_view error);

/// Whether a server that replies so can't serve any client for now. Replies that are about the
/// command, its keys, or a lack of memory come from a server that is well.
[[nodiscard]] bool IsUnwell(std::string_view code);

}  // namespace sluice::redis
