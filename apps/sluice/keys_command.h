#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "remote.h"

namespace sluice::app {

/// Options of `sluice key`, `grant` and `reset`; each command uses some of them.
struct KeysOptions {
  RemoteOptions remote{};
  std::vector<std::pair<std::string, std::string>> attributes{};
  std::string rule{};
  std::string prefix{};
  std::string pattern{};
  bool list = false;
  bool all = false;
  bool dry_run = false;
  bool detach = false;         ///< reset: don't wait for the job.
  std::uint64_t max_keys = 0;  ///< 0: as the server says.
  std::int64_t amount = 0;
  std::optional<Micros> lifetime{};  ///< grant: from now on.
  std::optional<WallTime> expires_at{};
};

// The commands return exit codes: 0 if they succeed, 1 after an error.

/// Prints the limits of a caller, or lists keys.
int ShowKey(const KeysOptions& options);
/// Grants extra units to a caller.
int GrantToKey(const KeysOptions& options);
/// Resets all keys that a selector matches, and waits for the end.
int ResetKeys(const KeysOptions& options);

}  // namespace sluice::app
