#include "envoy/load_config.h"

#include <string>
#include <utility>

#include "base/fingerprint.h"

namespace sluice::envoy {

LoadReport LoadConfig(Live<Config>& live, std::span<const FileContent> files,
                      const ReadOptions& options, WallTime now) {
  return live.Load({}, Fingerprint(files), now, [&]() -> LiveCandidate<Config> {
    ReadResult read = Read(files, options);
    return {.value = std::move(read.config),
            .errors = DescribeAll(read.errors),
            .warnings = DescribeAll(read.warnings)};
  });
}

LoadReport LoadConfig(Live<Config>& live, const FileChange& change, const ReadOptions& options,
                      WallTime now) {
  if (!change.error.empty()) return live.Refuse(change, now);
  return LoadConfig(live, change.files, options, now);
}

}  // namespace sluice::envoy
