#pragma once

#include <memory>
#include <string>

#include "match/entry_set.h"

namespace sluice::app {

/// Reads live entries from a file: what `sluice entries list --json` prints. Those without an
/// expiry never expire. An empty path: none. Null, and the error on stderr, if it can't be read.
[[nodiscard]] std::shared_ptr<const match::EntrySet> LoadEntries(const std::string& path);

}  // namespace sluice::app
