#pragma once

#include <string>
#include <utility>
#include <vector>

#include <sluice/result.h>

#include "settings/config.h"

namespace sluice::app {

struct ServeOptions {
  std::string config;  ///< A file; empty: none.
  /// Names and values of settings, in the order of the command line.
  std::vector<std::pair<std::string, std::string>> settings;
  bool print_config = false;
};

/// Reads the settings of a server: flags, then the environment, then the file (empty: that of
/// SLUICE_CONFIG, or none). The error has a line for each invalid setting.
[[nodiscard]] Result<settings::Config> ReadServerConfig(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& flags);

/// Runs the server until it is shut down. Returns the exit code: 2 for invalid settings, 1 if it
/// can't start.
int Serve(const ServeOptions& options);

}  // namespace sluice::app
