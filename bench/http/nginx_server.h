#pragma once

#include <optional>

#include "load/process.h"

namespace sluice::bench {

/// Where the peer answers what. Each with `?key=`.
inline constexpr const char* kNginxLimited =
    "/limited";                                         ///< 200, by a limit that is never reached.
inline constexpr const char* kNginxClosed = "/closed";  ///< 429 from the second call on.
inline constexpr const char* kNginxBare = "/bare";      ///< `return 200`, with no limit at all.

/// nginx with one worker, whose limits are per key. Empty if nginx is not installed.
class Nginx {
 public:
  /// Not started if the server is measured alone.
  explicit Nginx(bool alone);

  /// Null if it was not started.
  [[nodiscard]] const Process* process() const { return process_ ? &*process_ : nullptr; }

 private:
  testing::Folder folder_;
  std::optional<Process> process_;
};

}  // namespace sluice::bench
