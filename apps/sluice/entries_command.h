#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/time.h>

#include "remote.h"

namespace sluice::app {

/// Options of `sluice entries …`, `block` and `unblock`; each command uses some of them.
struct EntriesOptions {
  RemoteOptions remote{};
  std::string id{};
  std::string text{};  ///< put: JSON, "@FILE", or "-" for standard input. import: a file or "-".
  std::string match{};
  std::string effect{};
  std::vector<std::pair<std::string, std::string>> attributes{};  ///< block and unblock.
  std::string rule{};
  std::string reason{};
  std::string lifetime{};  ///< block: "2h"; empty: a day.
  bool forever = false;
  int status = 0;  ///< block: 0 leaves it to the server.
  bool dry_run = false;
  std::optional<Micros> wait{};
};

// The commands return exit codes: 0 if they succeed, 1 after an error, 2 if there is no such entry
// or block.

/// Lists the entries in force.
int ListEntries(const EntriesOptions& options);
/// Prints one entry.
int GetEntry(const EntriesOptions& options);
/// Creates or replaces one entry.
int PutEntry(const EntriesOptions& options);
/// Removes one entry.
int DeleteEntry(const EntriesOptions& options);
/// Creates or replaces all entries of a file, or none.
int ImportEntries(const EntriesOptions& options);
/// Blocks a caller.
int BlockCaller(const EntriesOptions& options);
/// Removes the block of a caller, and lists what else blocks it.
int UnblockCaller(const EntriesOptions& options);

}  // namespace sluice::app
