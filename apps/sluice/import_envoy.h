#pragma once

#include <string>

namespace sluice::app {

struct ImportEnvoyOptions {
  std::string directory;
  bool merge_domains = false;
};

/// Prints the files of envoyproxy/ratelimit as a rule file of ours; what that can't say is told on
/// standard error. Returns 1 if the files have mistakes.
int ImportEnvoy(const ImportEnvoyOptions& options);

}  // namespace sluice::app
