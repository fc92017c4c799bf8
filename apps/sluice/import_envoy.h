#pragma once

#include <string>

namespace sluice::app {

struct ImportEnvoyOptions {
  std::string directory;
  bool merge_domains = false;
};

/// Prints the files of envoyproxy/ratelimit as a rule file of ours; what that can't express is
/// reported on standard error. Returns 1 if the files have errors.
int ImportEnvoy(const ImportEnvoyOptions& options);

}  // namespace sluice::app
