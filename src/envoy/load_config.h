#pragma once

#include <span>

#include <sluice/time.h>

#include "base/live.h"
#include "base/watched_files.h"
#include "envoy/config.h"
#include "envoy/reader.h"

namespace sluice::envoy {

/// Reads the files and activates them; with errors, the previous configuration stays.
LoadReport LoadConfig(Live<Config>& live, std::span<const FileContent> files,
                      const ReadOptions& options, WallTime now);
/// The same with a watched directory. A file that can't be read is a failed load.
LoadReport LoadConfig(Live<Config>& live, const FileChange& change, const ReadOptions& options,
                      WallTime now);

}  // namespace sluice::envoy
