#pragma once

#include <string>
#include <utility>
#include <vector>

namespace sluice::app {

struct ServeOptions {
  std::string config;  ///< A file; empty: none.
  /// Names and values of settings, in the order of the command line.
  std::vector<std::pair<std::string, std::string>> settings;
  bool print_config = false;
};

/// Runs the server until it is shut down. Returns the exit code: 2 for invalid settings, 1 if it
/// can't start.
int Serve(const ServeOptions& options);

}  // namespace sluice::app
