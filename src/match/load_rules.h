#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <sluice/time.h>

#include "base/live.h"
#include "base/watched_files.h"
#include "match/rule_set.h"

namespace sluice::match {

/// Runs with rules that were read, right before they are compiled; may number their limits.
using PrepareRules = std::function<void(rules::RuleFile&)>;

/// Reads and compiles the text of a rule file, and activates it. `name` is for messages.
LoadReport LoadRules(Live<RuleSet>& live, const std::string& name, std::string_view yaml,
                     WallTime now, const PrepareRules& prepare = {});
/// The same with a watched file. A file that can't be read is a failed load.
LoadReport LoadRules(Live<RuleSet>& live, const FileChange& change, WallTime now,
                     const PrepareRules& prepare = {});

}  // namespace sluice::match
