#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <sluice/time.h>

#include "remote.h"

namespace sluice::app {

/// Options of `sluice rules …`; each command uses some of them.
struct RulesOptions {
  RemoteOptions remote{};
  std::string file{};     ///< diff and apply; "-": standard input.
  std::string version{};  ///< show and restore.
  std::string message{};
  std::string if_match{};  ///< apply: the entity tag of the version that the file replaces.
  std::optional<Micros> wait{};
  bool dry_run = false;
  bool force = false;
};

// The commands return exit codes: 0 if they succeed (diff, and a dry run of apply: the rules are
// the same), 1 after an error, 2 if the rules differ.

/// Prints the current rules.
int GetRules(const RulesOptions& options);
/// Prints the changes that applying a file would make.
int DiffRules(const RulesOptions& options);
/// Commits a file as the new version, and waits for all nodes if asked to.
int ApplyRules(const RulesOptions& options);
/// Lists the versions, the newest first.
int ShowRulesHistory(const RulesOptions& options);
/// Prints the text of a version.
int ShowRulesVersion(const RulesOptions& options);
/// Makes the text of an earlier version the current one.
int RestoreRules(const RulesOptions& options);
/// Lists the nodes and their versions.
int ShowNodes(const RulesOptions& options);

}  // namespace sluice::app
